"""Weights → the file that the program reads."""

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.embedding.static import MAGIC, Header, quantised


def exported(header: Header, words: Sequence[str], table: NDArray[np.float32]) -> bytes:
    """Give the bytes of a weights file.

    Args:
        header: What stands before the weights; its sizes are taken from the rows and the words.
        words: Words and pieces, one a row.
        table: Rows × dimension, the factors multiplied in.
    """
    levels, scales = quantised(table)
    scales /= scales.max()  # only directions count, and float16 holds these well
    blob = "\n".join(words).encode()
    sizes = {"rows": len(words), "dimension": table.shape[1], "word_bytes": len(blob)}
    line = json.dumps(header._replace(**sizes)._asdict(), sort_keys=True).encode()
    return b"".join([MAGIC, line, b"\n", blob, scales.astype("<f2").tobytes(), levels.tobytes()])
