"""Train the built-in model.

    python -m tools.training MIRRORS LIST OUT [--exclude FILE] [--seed N] [--epochs N]
        [--dimension N]

MIRRORS holds bare git directories, OWNER+NAME/repo; LIST names repositories, one OWNER/NAME a line;
no line of those in FILE is used for training. OUT receives ``static.bin``, ``manifest.json`` (each
repository with commit, licence and number of pairs) and the word counts of each repository, which
a second run reuses.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Final, NamedTuple

from engine.embedding.static_weights import Header, Splitter
from tools.training.batches import corpus_of
from tools.training.corpora import Lines, Mirror, excluded_lines
from tools.training.pairs import load_shard, pairs_of, save_shard, shard_of
from tools.training.train import Recipe, exported, train
from tools.training.vocabulary import known_rows, vocabulary_of

MODEL_NAME: Final = "cairn-code-1"
_TELL_EVERY: Final = 100  # steps


class Work(NamedTuple):
    """One repository to read."""

    mirror: Mirror
    shard: Path
    excluded: Lines


def main() -> None:
    """Read the repositories, train and write the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("list", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--exclude", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=float, default=Recipe().epochs)
    parser.add_argument("--dimension", type=int, default=Recipe().joined_dimension)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    excluded = _names_in(arguments.exclude) if arguments.exclude else []
    names = [name for name in _names_in(arguments.list) if name not in set(excluded)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    lines = excluded_lines(
        mirror for mirror in (Mirror(arguments.mirrors, name) for name in excluded)
        if mirror.exists()
    )  # fmt: skip
    _tell(f"{len(lines):,} excluded lines, {time.monotonic() - started:.0f} s")
    works = list(_works(arguments.mirrors, names, arguments.out / "shards", lines))
    with Pool(arguments.processes, maxtasksperchild=8) as pool:
        for number, _ in enumerate(pool.imap_unordered(read, works), 1):
            if number % 20 == 0:
                _tell(f"{number} repositories, {time.monotonic() - started:.0f} s")
    recipe = Recipe(
        seed=arguments.seed, epochs=arguments.epochs, joined_dimension=arguments.dimension
    )
    learn(works, arguments.out, recipe)
    _tell(f"done after {time.monotonic() - started:.0f} s")


def read(work: Work) -> None:
    """Write the shard of one repository, unless it exists."""
    if not work.shard.exists():
        save_shard(shard_of(pairs_of(work.mirror, work.excluded)), work.shard)


def learn(works: list[Work], out: Path, recipe: Recipe) -> None:
    """Train on shards and write the weights and the manifest."""
    shards = [load_shard(work.shard) for work in works]
    words, pieces = vocabulary_of(shards)
    splitter = Splitter(known_rows(words, pieces))
    table = train(
        corpus_of([shard for shard in shards if shard.size], splitter),
        len(words) + len(pieces),
        splitter,
        recipe,
        _tell_step,
    )
    shape = recipe.shape
    header = Header(
        name=MODEL_NAME,
        rows=0,
        dimension=0,
        word_bytes=0,
        count_power=shape.count_power,
        field_factors=shape.field_factors,
        path_factors=shape.path_factors,
        path_share=recipe.path_share,
        mean_share=recipe.mean_share,
    )
    (out / "static.bin").write_bytes(exported(header, [*words, *pieces], table))
    manifest = [
        {
            "repository": work.mirror.name,
            "commit": work.mirror.head(),
            "licence": work.mirror.licence(),
            "pairs": shard.size,
        }
        for work, shard in zip(works, shards, strict=True)
    ]
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


def _works(mirrors: Path, names: list[str], shards: Path, excluded: Lines) -> Iterator[Work]:
    shards.mkdir(exist_ok=True)
    for name in names:
        mirror = Mirror(mirrors, name)
        if mirror.exists():
            yield Work(mirror, shards / f"{name.replace('/', '+', 1)}.npz", excluded)
        else:
            _tell(f"no mirror of {name}")


def _names_in(file: Path) -> list[str]:
    return [line.strip() for line in file.read_text("utf-8").splitlines() if line.strip()]


def _tell_step(number: int, total: int, loss: float) -> None:
    if number % _TELL_EVERY == 0 or number == total:
        _tell(f"step {number} of {total}, loss {loss:.4f}")


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
