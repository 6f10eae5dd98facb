"""Looks at everything in an index, one thing after the other, and goes on past what it finds.

Each look has a snapshot of its own, so that another process can index meanwhile and its WAL can be
emptied in between; what must agree is always compared within one.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.config import Config
from engine.doctor.findings import MOST_PLACES, Trouble
from engine.doctor.memory_checks import memory_troubles
from engine.doctor.text_checks import (
    damaged_blobs,
    path_troubles,
    waiting_job,
    word_troubles,
)
from engine.doctor.vector_checks import vector_troubles
from engine.errors import Cancelled, EngineError, IndexCorruptError
from engine.project_files import stray_files
from engine.records import display_path
from engine.state_records import CheckCallback, CheckProgress, FindingCode
from engine.store import checks
from engine.store.connection import Store

#: Problems that SQLite is asked for; a damaged file has thousands.
_MOST_PROBLEMS = 100
#: How SQLite words that an index of its own does not fit its table.
_INDEX_WORDS = ("missing from index", "wrong # of entries in index", "non-unique entry in index")
_STEPS = {
    "words": FindingCode.WORDS,
    "paths": FindingCode.PATHS,
    "memories": FindingCode.MEMORY_WORDS,
}
_TERMS = {
    "chunk_terms": FindingCode.WORDS,
    "file_paths": FindingCode.PATHS,
    "memory_terms": FindingCode.MEMORY_WORDS,
}


@dataclass(slots=True)
class Examination:
    """What was looked at, and what was found."""

    troubles: list[Trouble] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)

    @property
    def is_readable(self) -> bool:
        """Whether rows can be mended one by one; else the file has to be made anew."""
        hopeless = {FindingCode.UNREADABLE, FindingCode.PAGES, FindingCode.SCHEMA}
        return not any(trouble.code in hopeless and not trouble.names for trouble in self.troubles)


class Examiner:
    """One examination of an index that can be opened.

    Args:
        store: Its database.
        config: The settings in force.
        on_progress: Hears what is looked at.
        cancelled: Asked often.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        on_progress: CheckCallback,
        cancelled: Callable[[], bool],
    ) -> None:
        self._store = store
        self._config = config
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._found = Examination()

    def examine(self) -> Examination:
        """Look at everything.

        Raises:
            Cancelled: ``cancelled`` said so.
            UnavailableError: The database is locked, or the disk fails.
        """
        for step, look in (
            ("tables", self._look_at_schema),
            ("pages", self._look_at_pages),
            ("rows", self._look_at_rows),
            ("texts", self._look_at_texts),
            ("symbols", self._look_at_symbols),
            ("words", self._look_at_words),
            ("paths", self._look_at_paths),
            ("memories", self._look_at_memories),
            ("vectors", self._look_at_vectors),
            ("surroundings", self._look_around),
        ):
            self._tell(step, 0, None)
            if self._cancelled():
                raise Cancelled("nothing was changed")
            try:
                look()
            except IndexCorruptError as error:
                self._note_unreadable(step, error)
            except EngineError as error:
                if error.code != EngineError.code:
                    raise
                self._note_unreadable(step, error)  # such as a table that is not there
        return self._found

    def _note_unreadable(self, step: str, error: EngineError) -> None:
        message = f"The {step} cannot be read to the end: {error.message}"
        # Were pages the cause, the look at them has told so.
        self._add(Trouble(_STEPS.get(step, FindingCode.PAGES), message, 1))

    def _look_at_schema(self) -> None:
        with self._store.read() as handle:
            problems = checks.read_schema_problems(handle)
        missing = [name for name, sql in problems.items() if sql is None]
        if not problems:
            return
        indexes = [name for name in missing if checks.is_index_or_trigger(name)]
        if len(indexes) == len(problems):
            message = f"Found that {_counted(len(indexes), 'index')} of the tables missing"
            self._add(Trouble(FindingCode.SCHEMA, message, len(indexes), names=tuple(indexes)))
            return
        message = "Found tables that are missing, or others than they should be: "
        self._add(Trouble(FindingCode.SCHEMA, message + ", ".join(problems), len(problems)))

    def _look_at_pages(self) -> None:
        with self._store.read() as handle, checks.stoppable(handle, self._cancelled):
            problems = checks.read_problems(handle, _MOST_PROBLEMS)
        self._found.checked["pages"] = self._store.path.stat().st_size // 4096
        for table, code in _TERMS.items():
            if any(_speaks_of_terms(problem, table) for problem in problems):
                message = f"Found the index {table} damaged"
                self._add(Trouble(code, message, 1, names=(table,)))
        problems = [
            problem
            for problem in problems
            if not any(_speaks_of_terms(problem, table) for table in _TERMS)
        ]
        indexes = [each for each in problems if any(word in each for word in _INDEX_WORDS)]
        if indexes:
            message = f"Found {_counted(len(indexes), 'entry')} of indexes that are wrong"
            self._add(
                Trouble(
                    FindingCode.INDEXES, message, len(indexes), places=tuple(indexes[:MOST_PLACES])
                )
            )
        others = [each for each in problems if each not in indexes]
        if others:
            message = f"Found {_counted(len(others), 'problem')} in the pages of the file"
            self._add(
                Trouble(FindingCode.PAGES, message, len(others), places=tuple(others[:MOST_PLACES]))
            )

    def _look_at_rows(self) -> None:
        with self._store.read() as handle, checks.stoppable(handle, self._cancelled):
            self._found.checked |= checks.count_rows(handle)
            strays = checks.read_strays(handle)
            unparsed = checks.read_unparsed(handle)
        if strays:
            tables = sorted({stray.table for stray in strays})
            message = (
                f"Found {_counted(len(strays), 'row')} of {', '.join(tables)} that refer to what is"
                " not there"
            )
            self._add(Trouble(FindingCode.STRAY_ROWS, message, len(strays), names=tuple(tables)))
        if unparsed:
            message = (
                f"Found {_counted(unparsed, 'file')} whose damaged contents were taken out: the"
                " next indexing run reads them again"
            )
            self._add(Trouble(FindingCode.UNPARSED, message, unparsed))

    def _look_at_texts(self) -> None:
        total = self._found.checked.get("blobs")
        found = list(
            damaged_blobs(
                self._store, self._cancelled, lambda done: self._tell("texts", done, total)
            )
        )
        if found:
            message = f"Found {_counted(len(found), 'text')} that are not what was stored"
            self._add(self._of_blobs(FindingCode.TEXTS, message, found))

    def _look_at_symbols(self) -> None:
        with self._store.read() as handle, checks.stoppable(handle, self._cancelled):
            blobs = checks.read_blobs_with_wrong_symbols(handle)
            lost = checks.read_lost_symbols(handle)
        if blobs:
            message = f"Found {_counted(len(blobs), 'text')} whose symbols do not fit the chunks"
            self._add(self._of_blobs(FindingCode.SYMBOLS, message, blobs))
        if lost:
            message = f"Found {_counted(len(lost), 'symbol')} of texts that are gone"
            self._add(Trouble(FindingCode.STRAY_ROWS, message, len(lost), names=("symbols",)))

    def _look_at_words(self) -> None:
        self._add(*word_troubles(self._store, self._cancelled))

    def _look_at_paths(self) -> None:
        self._add(*path_troubles(self._store, self._cancelled))

    def _look_at_memories(self) -> None:
        self._add(*memory_troubles(self._store, self._cancelled))

    def _look_at_vectors(self) -> None:
        with self._store.read() as handle, checks.stoppable(handle, self._cancelled):
            troubles, counted = vector_troubles(handle, self._config, self._cancelled)
        self._found.checked["vectors"] = counted
        self._add(*troubles)

    def _look_around(self) -> None:
        job = waiting_job(self._store, self._config)
        if job:
            message = f"Found job {job} unfinished, and nobody runs it"
            self._add(Trouble(FindingCode.JOB_WAITS, message, 1))
        self._add(*leftovers_of(self._store.path))

    def _of_blobs(self, code: FindingCode, message: str, ids: list[int]) -> Trouble:
        places: list[str] = []
        with suppress(EngineError), self._store.read() as handle:
            places = checks.read_paths_of_blobs(handle, ids, MOST_PLACES)
        return Trouble(code, message, len(ids), tuple(ids), places=tuple(map(display_path, places)))

    def _add(self, *troubles: Trouble) -> None:
        self._found.troubles.extend(troubles)

    def _tell(self, step: str, done: int, total: int | None) -> None:
        self._on_progress(CheckProgress(step=step, done=done, total=total))


def leftovers_of(file: Path) -> Iterable[Trouble]:
    """Give the files beside a database that processes left when they died."""
    names = tuple(each.name for each in stray_files(file))
    if names:
        message = f"Found {_counted(len(names), 'file')} that processes left when they died"
        yield Trouble(FindingCode.LEFTOVERS, message, len(names), names=names, places=names)


def _speaks_of_terms(problem: str, table: str) -> bool:
    return "fts5" in problem.lower() and table in problem


def _counted(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    plural = (
        f"{noun[:-1]}ies"
        if noun.endswith("y")
        else f"{noun}es"
        if noun.endswith("x")
        else f"{noun}s"
    )
    return f"{number:,} {plural}"
