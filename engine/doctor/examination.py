"""The table of checks, gone through to find what is damaged, and to mend that and nothing else.

A look goes on past what it finds. What was mended is told by the database alone, so a repair that
was killed is simply run again.
"""

from dataclasses import dataclass, field

from engine.doctor.check import Check, Context, Trouble
from engine.doctor.memories import MEMORIES
from engine.doctor.structure import PAGES, ROWS, SURROUNDINGS, TABLES
from engine.doctor.texts import MEMORY_WORDS, PATHS, SYMBOLS, TEXTS, WORDS
from engine.doctor.vectors import VECTORS
from engine.errors import EngineError, IndexCorruptError
from engine.faults import fault_point
from engine.state_records import FindingCode

#: In the order in which they look and mend.
CHECKS: tuple[Check, ...] = (
    TABLES,
    PAGES,
    TEXTS,
    SYMBOLS,
    ROWS,
    WORDS,
    PATHS,
    MEMORIES,
    MEMORY_WORDS,
    VECTORS,
    SURROUNDINGS,
)
#: What the mending of anything else writes to, and so is mended first.
_FIRST = (
    FindingCode.SCHEMA,
    FindingCode.INDEXES,
    FindingCode.VECTOR_TABLES,
    FindingCode.WORDS,
    FindingCode.PATHS,
    FindingCode.MEMORY_WORDS,
)
_HOPELESS = frozenset({FindingCode.UNREADABLE, FindingCode.PAGES, FindingCode.SCHEMA})


@dataclass(slots=True)
class Examination:
    """What was looked at, and what was found."""

    troubles: list[Trouble] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)

    @property
    def is_readable(self) -> bool:
        """Whether rows can be mended one by one; else the file has to be made anew."""
        return not any(each.code in _HOPELESS and not each.names for each in self.troubles)


def examine(context: Context) -> Examination:
    """Look at everything.

    Raises:
        Cancelled: It was to stop.
        UnavailableError: The database is locked, or the disk fails.
    """
    found = Examination(checked=context.checked)
    for check in CHECKS:
        context.tell(check.name)
        context.stop_if_cancelled()
        try:
            found.troubles += list(check.find(context))
        except EngineError as error:
            # A plain one is of SQLite, such as a table that is not there.
            if not isinstance(error, IndexCorruptError) and error.code != EngineError.code:
                raise
            # Were pages the cause, the look at them has told so.
            message = f"The {check.name} cannot be read to the end: {error.message}"
            found.troubles.append(Trouble(check.unreadable, message, 1))
    return found


def mend(context: Context, found: Examination, done: list[str]) -> None:
    """Mend all that was found.

    Args:
        context: What it works with; the caller holds the right to index.
        found: What is mended.
        done: Takes what was done, in sentences.

    Raises:
        Cancelled: It was to stop; what is mended stays so.
        EngineError: The database cannot be mended row by row.
    """
    troubles = [trouble for trouble in found.troubles if not trouble.is_note]
    codes = {trouble.code for trouble in troubles}
    fixes = {code: fix for check in CHECKS for code, fix in check.fixes.items()}
    for code in dict.fromkeys((*_FIRST, *fixes)):
        if code in codes:
            context.tell(f"mending {code.value}")
            done += fixes[code](context, [each for each in troubles if each.code is code])
            fault_point("trouble mended", code.value)
    if codes - {FindingCode.LEFTOVERS}:
        for check in CHECKS:
            if check.settle:
                context.tell(f"mending {check.name}")
                done += check.settle(context, troubles)
