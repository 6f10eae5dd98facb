"""Whatever a file system says, a 64-bit column can hold it."""

import os
from pathlib import Path

import pytest

from engine.records import FileEntry, FileStat
from engine.source.open_folders import file_stat_of
from engine.source.reader import Content, TreeReader
from tests.support.walks import walked

_NS = 10**9
_YEAR_2400_S = 13_569_465_600


def _result(*, inode: int = 5, mtime_ns: int = 0, ctime_ns: int = 0) -> os.stat_result:
    """Give what stat() would."""
    facts = {"st_mtime_ns": mtime_ns, "st_ctime_ns": ctime_ns}
    return os.stat_result((0o100644, inode, 1, 1, 0, 0, 7, 0, 0, 0), facts)


@pytest.mark.parametrize("number", [0, -1, -(2**63), 2**63 - 1])
def test_numbers_in_the_range_stay(number: int) -> None:
    inode = max(number, 0)
    found = file_stat_of(_result(inode=inode, mtime_ns=number, ctime_ns=number))
    assert found == FileStat(7, number, number, inode)


@pytest.mark.parametrize(
    ("number", "folded"),
    [(2**63, -(2**63)), (2**64 - 1, -1), (2**63 + 5, 5 - 2**63)],
)
def test_large_numbers_are_folded_one_by_one(number: int, folded: int) -> None:
    assert file_stat_of(_result(inode=number)) == FileStat(7, 0, 0, folded)
    assert file_stat_of(_result(mtime_ns=number)) == FileStat(7, folded, 0, 5)
    assert file_stat_of(_result(ctime_ns=number)) == FileStat(7, 0, folded, 5)


def test_times_before_the_range_are_folded() -> None:
    assert file_stat_of(_result(mtime_ns=-(2**63) - 1)).mtime_ns == 2**63 - 1


def test_walk_and_reader_agree_on_a_file_of_the_year_2400(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text("x = 1\n")
    os.utime(file, (_YEAR_2400_S, _YEAR_2400_S))
    if file.stat().st_mtime_ns != _YEAR_2400_S * _NS:
        pytest.skip("this file system knows no such times")
    (entry,) = walked(tmp_path)
    assert isinstance(entry, FileEntry)
    assert entry.stat == file_stat_of(file.stat())
    assert -(2**63) <= entry.stat.mtime_ns < 2**63
    with TreeReader(str(tmp_path)) as reader:
        content = reader.read(entry, 100)
        assert isinstance(content, Content)
        assert content.stat == entry.stat
        assert reader.stat_of("late.py") == entry.stat
