"""The table of checks, run to find damage and to repair that and nothing else.

An examination continues past the damage it finds. The database alone records what was repaired, so
a repair that was killed is simply run again.
"""

from dataclasses import dataclass, field

from engine.doctor.check import Check, Context, Problem
from engine.doctor.history import HISTORY
from engine.doctor.jobs import JOBS
from engine.doctor.memories import MEMORIES
from engine.doctor.structure import OWN_ROWS, PAGES, ROWS, SURROUNDINGS, TABLES
from engine.doctor.texts import MEMORY_WORDS, PATHS, SYMBOLS, TEXTS, WORDS
from engine.doctor.vectors import VECTORS
from engine.doctor_records import FindingCode
from engine.errors import EngineError, IndexCorruptError
from engine.faults import fault_point

#: In the order in which they run.
CHECKS: tuple[Check, ...] = (
    TABLES,
    PAGES,
    OWN_ROWS,
    JOBS,
    TEXTS,
    SYMBOLS,
    ROWS,
    WORDS,
    PATHS,
    MEMORIES,
    MEMORY_WORDS,
    VECTORS,
    HISTORY,
    SURROUNDINGS,
)
#: Repaired first, because every other repair writes to it.
_FIRST = (
    FindingCode.SCHEMA,
    FindingCode.INDEXES,
    FindingCode.VECTOR_TABLES,
    FindingCode.WORDS,
    FindingCode.PATHS,
    FindingCode.MEMORY_WORDS,
    FindingCode.HISTORY_WORDS,
)
_HOPELESS = frozenset({FindingCode.UNREADABLE, FindingCode.PAGES, FindingCode.SCHEMA})


@dataclass(slots=True)
class Examination:
    """The result of all checks: what was checked, and the problems found."""

    problems: list[Problem] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    was_never_filled: bool = False  # the file has no contents, and no log tells of any

    @property
    def is_readable(self) -> bool:
        """Whether rows can be repaired one by one; else the file must be rebuilt."""
        return not any(each.code in _HOPELESS and not each.names for each in self.problems)


def examine(context: Context) -> Examination:
    """Run every check.

    Raises:
        Cancelled: It was to stop.
        UnavailableError: The database is locked, or the disk fails.
    """
    found = Examination(checked=context.checked)
    for check in CHECKS:
        context.report(check.name)
        context.stop_if_cancelled()
        try:
            found.problems += list(check.find(context))
        except EngineError as error:
            # A plain EngineError comes from SQLite, for example for a missing table.
            if not isinstance(error, IndexCorruptError) and error.code != EngineError.code:
                raise
            # If damaged pages were the cause, their check has reported it already.
            message = f"The {check.name} cannot be read to the end: {error.message}"
            found.problems.append(Problem(check.unreadable, message, 1))
    return found


def repair_findings(context: Context, found: Examination, done: list[str]) -> None:
    """Repair all problems of an examination.

    Args:
        context: What the fixes work with; the caller holds the indexing lock.
        found: The problems to repair.
        done: Extended with what was done, in sentences.

    Raises:
        Cancelled: It was cancelled; finished repairs stay.
        EngineError: The database cannot be repaired row by row.
    """
    problems = [problem for problem in found.problems if not problem.is_note]
    codes = {problem.code for problem in problems}
    fixes = {code: fix for check in CHECKS for code, fix in check.fixes.items()}
    for code in dict.fromkeys((*_FIRST, *fixes)):
        if code in codes:
            context.report(f"repairing {code.value}")
            done += fixes[code](context, [each for each in problems if each.code is code])
            fault_point("trouble mended", code.value)
    if codes - {FindingCode.LEFTOVERS}:
        for check in CHECKS:
            if check.settle:
                context.report(f"repairing {check.name}")
                done += check.settle(context, problems)
