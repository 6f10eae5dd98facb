"""Checks of the file as SQLite has it: tables, pages and references; and of what lies around it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.config import Config
from engine.doctor.check import MOST_PLACES, Check, Context, Trouble
from engine.locks import holder_of, runner_lock
from engine.project_files import delete_temp_files, temp_files
from engine.state_records import FindingCode
from engine.store import checks, jobs, repair
from engine.store.connection import Store
from engine.wording import count

#: Problems that SQLite is asked for; a damaged file has thousands.
_MOST_PROBLEMS = 100
#: How SQLite words that an index of its own does not fit its table.
_INDEX_WORDS = ("missing from index", "wrong # of entries in index", "non-unique entry in index")
_KEYWORD_CODES = {
    checks.CHUNK_WORDS: FindingCode.WORDS,
    checks.PATH_WORDS: FindingCode.PATHS,
    checks.MEMORY_WORDS: FindingCode.MEMORY_WORDS,
}


def _find_schema(context: Context) -> Iterator[Trouble]:
    """Compare the schema with that of a fresh database."""
    with context.reading() as handle:
        problems = checks.read_schema_problems(handle)
    missing = [name for name, sql in problems.items() if sql is None]
    indexes = tuple(name for name in missing if checks.is_index_or_trigger(name))
    if problems and len(indexes) == len(problems):
        message = f"Found that {count(len(indexes), 'index')} of the tables missing"
        yield Trouble(FindingCode.SCHEMA, message, len(indexes), names=indexes)
    elif problems:
        message = "Found tables that are missing, or others than they should be: "
        yield Trouble(FindingCode.SCHEMA, message + ", ".join(problems), len(problems))


def _make_schema_objects(context: Context, troubles: Sequence[Trouble]) -> Iterator[str]:
    for trouble in troubles:
        with context.store.write(durable=True) as handle:
            repair.make_schema_objects(handle, trouble.names)
        yield f"Made {', '.join(trouble.names)} again"


def _find_pages(context: Context) -> Iterator[Trouble]:
    """Have SQLite and FTS5 look at the structure of pages, indexes and keyword indexes."""
    with context.reading() as handle:
        problems = checks.read_problems(handle, _MOST_PROBLEMS)
    context.checked["pages"] = context.store.path.stat().st_size // 4096
    for index, code in _KEYWORD_CODES.items():
        others = [each for each in problems if not _speaks_of_words(each, index.table)]
        if others != problems:
            message = f"Found the index {index.table} damaged"
            yield Trouble(code, message, 1, names=(index.table,))
        problems = others
    indexes = [each for each in problems if any(words in each for words in _INDEX_WORDS)]
    if indexes:
        message = f"Found {count(len(indexes), 'entry')} of indexes that are wrong"
        places = tuple(indexes[:MOST_PLACES])
        yield Trouble(FindingCode.INDEXES, message, len(indexes), places=places)
    pages = [each for each in problems if each not in indexes]
    if pages:
        message = f"Found {count(len(pages), 'problem')} in the pages of the file"
        places = tuple(pages[:MOST_PLACES])
        yield Trouble(FindingCode.PAGES, message, len(pages), places=places)


def _speaks_of_words(problem: str, table: str) -> bool:
    return "fts5" in problem.lower() and table in problem


def _reindex(context: Context, _troubles: Sequence[Trouble]) -> Iterator[str]:
    with context.store.write(durable=True) as handle:
        repair.reindex(handle)
    yield "Made the indexes of the tables again"


def _find_stray_rows(context: Context) -> Iterator[Trouble]:
    """Count all rows, and find those that refer to what is not there."""
    with context.reading() as handle:
        context.checked |= checks.count_rows(handle)
        strays = checks.read_strays(handle)
        lost = checks.read_lost_symbols(handle)
        unparsed = checks.read_unparsed(handle)
    if strays:
        tables = sorted({stray.table for stray in strays})
        message = (
            f"Found {count(len(strays), 'row')} of {', '.join(tables)} that refer to what is not"
            " there"
        )
        yield Trouble(FindingCode.STRAY_ROWS, message, len(strays), names=tuple(tables))
    if lost:
        message = f"Found {count(len(lost), 'symbol')} of texts that are gone"
        yield Trouble(FindingCode.STRAY_ROWS, message, len(lost), names=("symbols",))
    if unparsed:
        message = (
            f"Found {count(unparsed, 'file')} whose damaged contents were taken out: the next"
            " indexing run reads them again"
        )
        yield Trouble(FindingCode.UNPARSED, message, unparsed)


def _mend_stray_rows(context: Context, _troubles: Sequence[Trouble]) -> Iterator[str]:
    with context.store.write(durable=True) as handle:
        number = repair.delete_strays(handle)
    if number:
        yield f"Repaired {count(number, 'dangling row')}"


def _find_surroundings(context: Context) -> Iterator[Trouble]:
    """Find a job that nobody runs, and files of processes that died."""
    job = _waiting_job(context.store, context.config)
    if job:
        message = f"Found job {job} unfinished, and nobody runs it"
        yield Trouble(FindingCode.JOB_WAITS, message, 1)
    yield from leftovers_of(context.store.path)


def _waiting_job(store: Store, config: Config) -> str | None:
    """Return the id of the job that is active while no process runs jobs."""
    with store.read() as handle:
        row = jobs.read_active_job(handle)
    if row is None:
        return None
    return row.uuid if holder_of(runner_lock(config.data_dir)) is None else None


def leftovers_of(file: Path) -> Iterator[Trouble]:
    """Find the files beside a database that processes left when they died."""
    names = tuple(each.name for each in temp_files(file))
    if names:
        message = f"Found {count(len(names), 'file')} that processes left when they died"
        yield Trouble(FindingCode.LEFTOVERS, message, len(names), names=names, places=names)


def _delete_leftovers(context: Context, troubles: Sequence[Trouble]) -> Iterator[str]:
    delete_temp_files(context.store.path)
    number = sum(each.number for each in troubles)
    yield f"Deleted {count(number, 'file')} that dead processes left"


TABLES = Check(name="tables", find=_find_schema, fixes={FindingCode.SCHEMA: _make_schema_objects})
PAGES = Check(name="pages", find=_find_pages, fixes={FindingCode.INDEXES: _reindex})
ROWS = Check(name="rows", find=_find_stray_rows, fixes={FindingCode.STRAY_ROWS: _mend_stray_rows})
SURROUNDINGS = Check(
    name="surroundings",
    find=_find_surroundings,
    fixes={FindingCode.LEFTOVERS: _delete_leftovers},
)
