"""A tree that never rests, and what its index costs meanwhile: bytes on disk and in memory."""

import os
import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import sqlite_vec

from tests.support.patience import patience

_WORDS = (
    "account batch cache delete encode filter gather handle insert join key limit merge number "
    "order parse query reader select token update value write index store search request answer"
).split()
_FUNCTIONS = 12
_SAMPLE_EVERY_S = 0.05
_MEMORY_EVERY_S = 2.0


class Churn:
    """Changes a tree of generated Python files for as long as it is asked to.

    The number of files stays about the same, and so does their size: what grows is the index's own.

    Args:
        root: An empty folder.
        files: How many files.
        seed: What makes it this churn.
    """

    def __init__(self, root: Path, *, files: int, seed: int = 1) -> None:
        self._root = root
        self._random = random.Random(seed)
        self._next = 0
        self._files: list[Path] = []
        for number in range(20):
            (root / f"part{number}").mkdir()
        while len(self._files) < files:
            self._create()

    def step(self) -> None:
        """Change one file: six of ten times by a new content, else by another name or place."""
        chance = self._random.random()
        at = self._random.randrange(len(self._files))
        if chance < 0.6:
            self._files[at].write_text(self._text())
        elif chance < 0.8:
            self._files.pop(at).unlink()
            self._create()
        else:
            place = self._place()
            self._files[at].rename(place)
            self._files[at] = place

    def run(self, seconds: float, *, a_second: float) -> int:
        """Change so many files a second at most, in bursts like those of a person's tools.

        A machine that is too busy for that takes longer for as many changes, which it returns.
        """
        started = time.monotonic()
        done, wanted = 0, int(seconds * a_second)
        while done < wanted:
            due = (time.monotonic() - started) * a_second
            while done < min(due, wanted):
                self.step()
                done += 1
            time.sleep(self._random.random() * 2 / 3)
        return done

    def _create(self) -> None:
        place = self._place()
        place.write_text(self._text())
        self._files.append(place)

    def _place(self) -> Path:
        self._next += 1
        return self._root / f"part{self._random.randrange(20)}" / f"module{self._next}.py"

    def _text(self) -> str:
        choice = self._random.choice
        functions = []
        for _ in range(_FUNCTIONS):
            name = "_".join(self._random.choices(_WORDS, k=3))
            lines = [
                f"    {choice(_WORDS)} = {choice(_WORDS)}_{choice(_WORDS)}({choice(_WORDS)!r}, "
                f"{self._random.randrange(1000)})\n"
                for _ in range(self._random.randrange(2, 12))
            ]
            functions.append(f"def {name}({choice(_WORDS)}):\n{''.join(lines)}    return None\n")
        return "\n\n".join(functions)


@dataclass(slots=True)
class Cost:
    """What was seen of an index: the most bytes of its WAL, and memory over time."""

    wal_bytes: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)  # (seconds, MiB)

    def growth(self, from_s: float) -> float:
        """Give MiB a minute: the slope of the least squares from a second on."""
        seen = [(second, size) for second, size in self.memory if second >= from_s]
        middle_s = sum(second for second, _ in seen) / len(seen)
        middle = sum(size for _, size in seen) / len(seen)
        spread = sum((second - middle_s) ** 2 for second, _ in seen)
        return 60 * sum((x - middle_s) * (size - middle) for x, size in seen) / spread


class Sampler:
    """Looks at an index and at the processes of its data directory while a block runs.

    Args:
        file: The database.
        process: Whose memory is looked at, in MiB of resident pages; its workers' are not.
    """

    def __init__(self, file: Path, process: int) -> None:
        self.cost = Cost()
        self._wal = file.with_name(f"{file.name}-wal")
        self._process = process
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Cost:
        self._thread.start()
        return self.cost

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        started = time.monotonic()
        looked = -_MEMORY_EVERY_S
        while not self._stop.wait(_SAMPLE_EVERY_S):
            with suppress(FileNotFoundError):  # between two that write
                self.cost.wal_bytes = max(self.cost.wal_bytes, self._wal.stat().st_size)
            passed = time.monotonic() - started
            if passed - looked >= _MEMORY_EVERY_S:
                looked = passed
                self.cost.memory.append((passed, resident_mib(self._process)))


def resident_mib(process: int) -> float:
    """Give the resident memory of a process, in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def vector_room(file: Path) -> float:
    """Give the room that vectors of chunks take, as a multiple of what they need at least."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    handle.set_busy_timeout(int(patience(10_000)))
    try:
        handle.enable_load_extension(True)
        handle.load_extension(sqlite_vec.loadable_path())
        model = handle.execute("SELECT model_id FROM project").get
        table = f"chunk_vectors_{model:d}"
        blocks = handle.execute(f"SELECT count(*) FROM {table}_chunks").get
        places = handle.execute(f"SELECT sum(size) FROM {table}_chunks").get
        vectors = handle.execute(f"SELECT count(*) FROM {table}_rowids").get
    finally:
        handle.close()
    least = -(-vectors // (places // blocks))
    return float(blocks / least)
