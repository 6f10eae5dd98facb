"""Weights → the file that the program reads."""

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.embedding.static import MAGIC, Header, quantised


def exported(
    header: Header, words: Sequence[str], rows: NDArray[np.float32], factors: NDArray[np.float32]
) -> bytes:
    """Give the bytes of a weights file.

    Args:
        header: What stands before the weights; its sizes are taken from the rows and the words.
        words: Words and pieces, one a row.
        rows: Rows × dimension.
        factors: Rows × sides.
    """
    levels, scales = quantised(rows)
    # Only directions count: the largest is brought to 1, for float16 to hold all of them well.
    scaled = factors * scales[:, None]
    scaled /= scaled.max(axis=0)
    blob = "\n".join(words).encode()
    sizes = {"rows": len(words), "dimension": rows.shape[1], "word_bytes": len(blob)}
    line = json.dumps(header._replace(**sizes)._asdict(), sort_keys=True).encode()
    return b"".join([MAGIC, line, b"\n", blob, scaled.T.astype("<f2").tobytes(), levels.tobytes()])
