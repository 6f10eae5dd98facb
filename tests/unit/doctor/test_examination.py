"""The table of checks, as a whole."""

from engine.doctor.examination import CHECKS
from engine.doctor_records import FindingCode

#: What is made anew as a whole, what a check settles after all fixes, and what is no damage.
_WITHOUT_A_FIX = {
    FindingCode.UNREADABLE,
    FindingCode.PAGES,
    FindingCode.WORDS_MISSING,
    FindingCode.WORDS_LOST,
    FindingCode.PATHS_MISSING,
    FindingCode.PATHS_LOST,
    FindingCode.MEMORY_WORDS_MISSING,
    FindingCode.MEMORY_WORDS_LOST,
    FindingCode.VECTORS_MISSING,
    FindingCode.VECTORS_LOST,
    FindingCode.UNPARSED,
    FindingCode.UNFINISHED,
    FindingCode.JOB_WAITS,
    FindingCode.CHANGES_WAIT,
}


def test_each_kind_of_damage_is_mended_by_one_check() -> None:
    fixed = [code for check in CHECKS for code in check.fixes]
    assert len(fixed) == len(set(fixed))
    assert {*fixed} == {*FindingCode} - _WITHOUT_A_FIX


def test_each_check_has_a_name_of_its_own_and_says_what_it_finds() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.find.__doc__ for check in CHECKS)
