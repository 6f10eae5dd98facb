"""Checks of the file at the level of SQLite (schema, pages, references) and of its surroundings."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.config import Config
from engine.doctor.check import MOST_PLACES, Check, Context, Problem
from engine.doctor_records import FindingCode
from engine.files import size_of
from engine.humanize import count
from engine.locks import holder_of, runner_lock_file, watch_status_of
from engine.project_files import delete_temp_files, temp_files
from engine.state_records import WatchState
from engine.store import checks, jobs, project, repair, text_checks
from engine.store.connection import Store

#: The most problems to read from SQLite; a damaged file has thousands.
_MOST_PROBLEMS = 100
#: How SQLite words that an index of its own does not fit its table.
_INDEX_WORDS = ("missing from index", "wrong # of entries in index", "non-unique entry in index")
_KEYWORD_CODES = {
    checks.CHUNK_WORDS: FindingCode.WORDS,
    checks.PATH_WORDS: FindingCode.PATHS,
    checks.MEMORY_WORDS: FindingCode.MEMORY_WORDS,
    checks.COMMIT_WORDS: FindingCode.HISTORY_WORDS,
}


def _find_schema(context: Context) -> Iterator[Problem]:
    """Compare the schema with a fresh database's."""
    with context.reading() as handle:
        problems = checks.read_schema_problems(handle)
    missing = [name for name, sql in problems.items() if sql is None]
    indexes = tuple(name for name in missing if checks.is_index_or_trigger(name))
    if problems and len(indexes) == len(problems):
        message = f"Found that {count(len(indexes), 'index')} of the tables missing"
        yield Problem(FindingCode.SCHEMA, message, len(indexes), names=indexes)
    elif problems:
        message = "Found tables that are missing or differ from the schema: "
        yield Problem(FindingCode.SCHEMA, message + ", ".join(problems), len(problems))


def _make_schema_objects(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        with context.store.write(durable=True) as handle:
            repair.make_schema_objects(handle, problem.names)
        yield f"Made {', '.join(problem.names)} again"


def _find_pages(context: Context) -> Iterator[Problem]:
    """Run the integrity checks of SQLite and FTS5 on pages, indexes and keyword indexes."""
    with context.reading() as handle:
        problems = checks.read_problems(handle, _MOST_PROBLEMS)
    context.checked["pages"] = size_of(context.store.path) // 4096
    for index, code in _KEYWORD_CODES.items():
        others = [each for each in problems if not _is_about_words(each, index.table)]
        if others != problems:
            message = f"Found the index {index.table} damaged"
            yield Problem(code, message, 1, names=(index.table,))
        problems = others
    indexes = [each for each in problems if any(words in each for words in _INDEX_WORDS)]
    if indexes:
        message = f"Found {count(len(indexes), 'entry')} of indexes that are wrong"
        places = tuple(indexes[:MOST_PLACES])
        yield Problem(FindingCode.INDEXES, message, len(indexes), places=places)
    pages = [each for each in problems if each not in indexes]
    if pages:
        message = f"Found {count(len(pages), 'problem')} in the pages of the file"
        places = tuple(pages[:MOST_PLACES])
        yield Problem(FindingCode.PAGES, message, len(pages), places=places)


def _is_about_words(problem: str, table: str) -> bool:
    return "fts5" in problem.lower() and table in problem


def _reindex(context: Context, _problems: Sequence[Problem]) -> Iterator[str]:
    with context.store.write(durable=True) as handle:
        repair.reindex(handle)
    yield "Made the indexes of the tables again"


def _find_unreadable_rows(context: Context) -> Iterator[Problem]:
    """Find rows that everything needs, and that cannot be read as they should be."""
    with context.reading() as handle:
        tables = text_checks.read_unreadable_tables(handle)
        is_there = "project" in tables or project.read_project(handle) is not None
    if not is_there:
        yield Problem(FindingCode.PAGES, "Found that the row of the project is gone", 1)
    if tables:
        message = f"Found rows of {', '.join(tables)} that are no text"
        yield Problem(FindingCode.PAGES, message, len(tables))


def _find_dangling_rows(context: Context) -> Iterator[Problem]:
    """Count all rows, and find those with dangling references."""
    with context.reading() as handle:
        context.checked |= checks.count_rows(handle)
        dangling = checks.read_dangling_rows(handle)
        orphaned = checks.read_orphaned_symbols(handle)
        unparsed = checks.read_unparsed(handle)
    if dangling:
        tables = sorted({row.table for row in dangling})
        message = (
            f"Found {count(len(dangling), 'row')} of {', '.join(tables)} that refer to missing rows"
        )
        yield Problem(FindingCode.STRAY_ROWS, message, len(dangling), names=tuple(tables))
    if orphaned:
        message = f"Found {count(len(orphaned), 'symbol')} of texts that are gone"
        yield Problem(FindingCode.STRAY_ROWS, message, len(orphaned), names=("symbols",))
    if unparsed:
        message = (
            f"Found {count(unparsed, 'file')} whose damaged contents were removed: the next"
            " indexing run reads them again"
        )
        yield Problem(FindingCode.UNPARSED, message, unparsed)


def _repair_dangling_rows(context: Context, _problems: Sequence[Problem]) -> Iterator[str]:
    with context.store.write(durable=True) as handle:
        number = repair.repair_references(handle)
    if number:
        yield f"Repaired {count(number, 'dangling row')}"


def _find_surroundings(context: Context) -> Iterator[Problem]:
    """Find a job without a runner, changes that are pending, and files left by dead processes."""
    job = _waiting_job(context.store, context.config)
    if job:
        message = f"Found job {job} unfinished, and no process is running it"
        yield Problem(FindingCode.JOB_WAITS, message, 1)
    watch = watch_status_of(context.store.path)
    if watch is not None and watch.state is WatchState.BLOCKED:
        found = "Changes cannot be indexed"
        if watch.pending:
            found = f"Found {count(watch.pending, 'change')} pending"
        message = f"{found} since {watch.since}: {watch.reason}"
        yield Problem(FindingCode.CHANGES_WAIT, message, watch.pending)
    yield from leftovers_of(context.store.path)


def _waiting_job(store: Store, config: Config) -> str | None:
    """Return the id of the job that is active while no process runs jobs."""
    with store.read() as handle:
        row = jobs.read_active_job(handle)
    if row is None:
        return None
    return row.uuid if holder_of(runner_lock_file(config.data_dir)) is None else None


def leftovers_of(file: Path) -> Iterator[Problem]:
    """Find the files beside a database left by dead processes."""
    names = tuple(each.name for each in temp_files(file))
    if names:
        message = f"Found {count(len(names), 'file')} left by dead processes"
        yield Problem(FindingCode.LEFTOVERS, message, len(names), names=names, places=names)


def _delete_leftovers(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
    delete_temp_files(context.store.path)
    number = sum(each.number for each in problems)
    yield f"Deleted {count(number, 'file')} left by dead processes"


TABLES = Check(name="tables", find=_find_schema, fixes={FindingCode.SCHEMA: _make_schema_objects})
PAGES = Check(name="pages", find=_find_pages, fixes={FindingCode.INDEXES: _reindex})
OWN_ROWS = Check(name="rows of the project", find=_find_unreadable_rows)
ROWS = Check(
    name="rows",
    find=_find_dangling_rows,
    fixes={FindingCode.STRAY_ROWS: _repair_dangling_rows},
)
SURROUNDINGS = Check(
    name="surroundings",
    find=_find_surroundings,
    fixes={FindingCode.LEFTOVERS: _delete_leftovers},
)
