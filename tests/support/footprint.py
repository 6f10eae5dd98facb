"""What a process holds: memory, threads and open files."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.support.sockets import resident_mb


class Footprint(NamedTuple):
    """What a process holds at a moment."""

    resident_mb: float
    threads: int
    descriptors: int

    def __str__(self) -> str:
        """Write it for a report."""
        return f"{self.resident_mb:.0f} MB, {self.threads} threads, {self.descriptors} descriptors"


def footprint_of(pid: int) -> Footprint:
    """Measure a process."""
    process = Path(f"/proc/{pid}")
    return Footprint(resident_mb(pid), _count(process / "task"), _count(process / "fd"))


def _count(folder: Path) -> int:
    with suppress(FileNotFoundError):
        return sum(1 for _ in folder.iterdir())
    return 0


def growth_an_hour(samples: list[tuple[float, float]]) -> float:
    """Return the slope of the line through samples of hours and megabytes (least squares)."""
    mean_h = sum(hours for hours, _ in samples) / len(samples)
    mean_mb = sum(mb for _, mb in samples) / len(samples)
    spread = sum((hours - mean_h) ** 2 for hours, _ in samples)
    return sum((hours - mean_h) * (mb - mean_mb) for hours, mb in samples) / spread
