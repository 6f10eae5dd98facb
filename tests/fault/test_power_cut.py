"""A power cut at any moment: the index is sound, and what was said to be on the disk is."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from engine.store import connection, project
from engine.store.connection import Store
from engine.store.migrate import newest
from tests.support.faults.power import Images
from tests.support.faults.stage import OPERATIONS, Operation, Stage
from tests.support.faults.vfs import Disk, faulty
from tests.support.oracle import check_sound, contents, version_of

#: Disks that write 512 or 4,096 bytes at once, and that may or may not touch the neighbours.
_DISKS = tuple(
    (sector_bytes, is_powersafe) for sector_bytes in (512, 4096) for is_powersafe in (True, False)
)
_LOGGED = tuple(operation for operation in OPERATIONS if operation.name != "forget")
_TRANSACTIONS = 60


def moments(number: int, events: int, random_: random.Random) -> list[int]:
    """Choose moments of a record, its end among them, in their order."""
    return sorted([events, *(random_.randrange(1, events + 1) for _ in range(number - 1))])


def cut_operation(stage: Stage, operation: Operation, images: int, seed: int) -> int:
    """Cut the power during an operation; each image is sound, and can be completed."""
    operation.prepare(stage)
    wanted = stage.fresh_contents(operation.model)
    made = 0
    for number, (sector_bytes, is_powersafe) in enumerate(_DISKS):
        stage.restore()
        disk = Disk(sector_bytes=sector_bytes, is_powersafe=is_powersafe)
        with (
            faulty(disk, records=True) as vfs,
            stage.catalog(model=operation.model) as catalog,
        ):
            operation.act(stage, catalog)
            vfs.mark("done")
        if not operation.is_filled:
            wanted = contents(stage.database)
        random_ = random.Random(f"{seed} {number}")
        record = Images(vfs.events, sector_bytes=sector_bytes)
        for at in moments(images // len(_DISKS), len(vfs.events), random_):
            record.advance(at)
            shutil.rmtree(stage.home)
            record.write(stage.home, random_)
            version = version_of(stage.database)
            assert version in (0, 1, newest())
            if version == newest():
                check_sound(stage.database)
            if record.marks:
                assert contents(stage.database) == wanted
            with stage.catalog(model=operation.model) as catalog:
                operation.act(stage, catalog)
            check_sound(stage.database)
            assert contents(stage.database) == wanted
            made += 1
    return made


def write_transactions(store: Store, mark: Callable[[object], None]) -> None:
    """Write numbered transactions of many sizes, each third one durable, with checkpoints."""
    random_ = random.Random(1)
    with store.write(durable=True) as handle:
        project.insert_project(
            handle, project_id="a" * 64, root=b"/root", max_file_size=1, now_ms=0
        )
        handle.execute("CREATE TABLE told (number INTEGER PRIMARY KEY, content BLOB NOT NULL)")
        handle.execute("INSERT INTO told VALUES (0, x'')")
    mark((0, True))
    for number in range(1, _TRANSACTIONS):
        is_durable = number % 3 == 0
        with store.write(durable=is_durable) as handle:
            content = random_.randbytes(random_.choice((10, 3000, 40_000)))
            handle.execute("INSERT INTO told VALUES (?, ?)", (number, content))
            if number % 7 == 0:
                handle.execute("UPDATE told SET content = ? WHERE number % 5 = 0", (content,))
        mark((number, is_durable))
        if number % 25 == 0:
            store.checkpoint()


def told(file: Path) -> list[int]:
    """Give the numbers of the transactions that are there."""
    handle = apsw.Connection(str(file))
    try:
        rows: Iterator[tuple[int]] = handle.execute("SELECT number FROM told ORDER BY number")
        return [number for (number,) in rows]
    finally:
        handle.close()


def cut_transactions(
    folder: Path, images: int, seed: int, *, is_lying: bool = False
) -> tuple[int, int]:
    """Cut the power between numbered transactions; give images and transactions lost."""
    made = lost = 0
    for number, (sector_bytes, is_powersafe) in enumerate(_DISKS):
        disk = Disk(sector_bytes=sector_bytes, is_powersafe=is_powersafe, is_lying=is_lying)
        file = folder / f"disk{number}" / "project.db"
        with faulty(disk, records=True) as vfs:
            store = Store(file, busy_timeout_ms=100, create=True)
            write_transactions(store, vfs.mark)
            store.close()
        random_ = random.Random(f"{seed} {number}")
        record = Images(vfs.events, sector_bytes=sector_bytes)
        for at in moments(images // len(_DISKS), len(vfs.events), random_):
            record.advance(at)
            home = folder / f"image{made}-{number}"
            record.write(home, random_)
            made += 1
            if record.marks:
                check_sound(home / file.name)
                numbers = told(home / file.name)
                assert numbers == list(range(len(numbers))), "a gap in what was committed"
                durable = [each for each, is_durable in record.marks if is_durable]
                assert numbers[-1] >= max(durable)
                lost += max(0, len(record.marks) - len(numbers))
            else:
                version_of(home / file.name)
            shutil.rmtree(home)
    return made, lost


@pytest.fixture
def small_wal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the writer begin the WAL anew after a few transactions."""
    monkeypatch.setattr(connection, "_WAL_LIMIT_BYTES", 200_000)


@pytest.mark.parametrize("operation", _LOGGED, ids=lambda operation: operation.name)
def test_operations(tmp_path: Path, operation: Operation) -> None:
    assert cut_operation(Stage(folder=tmp_path), operation, 16, 1) == 16


@pytest.mark.usefixtures("small_wal")
def test_transactions(tmp_path: Path) -> None:
    made, lost = cut_transactions(tmp_path, 80, 1)
    assert made == 80
    assert lost  # those that were not to be durable: else no power was cut


@pytest.mark.usefixtures("small_wal")
def test_a_disk_that_lies_is_found_out(tmp_path: Path) -> None:
    """Nothing can be promised there; that it shows proves that the images are cruel enough."""
    with pytest.raises((AssertionError, apsw.Error)):
        cut_transactions(tmp_path, 80, 1, is_lying=True)


@pytest.mark.soak
@pytest.mark.parametrize("operation", _LOGGED, ids=lambda operation: operation.name)
def test_operations_often(tmp_path: Path, operation: Operation) -> None:
    made = cut_operation(Stage(folder=tmp_path), operation, 120, 2)
    print(f"{operation.name}: {made} power cuts, 0 inconsistent, nothing durable lost")


@pytest.mark.soak
@pytest.mark.usefixtures("small_wal")
def test_transactions_often(tmp_path: Path) -> None:
    made, lost = cut_transactions(tmp_path, 1000, 2)
    print(f"{made} power cuts: 0 inconsistent, 0 durable and {lost} other transactions lost")
