"""The check of vectors: checksums, positions, and whether each one is its own nearest neighbour."""

from collections.abc import Iterator, Sequence

from engine.config import Config
from engine.doctor.check import MOST_PLACES, Check, Context, Problem, delete_rows
from engine.doctor_records import FindingCode
from engine.embedding.model_setting import Backend
from engine.errors import EmbedderUnavailableError
from engine.humanize import count
from engine.indexing.batch import reads_text
from engine.indexing.progress import Tally
from engine.indexing.vectors import Backfill
from engine.records import display_path
from engine.store import checks, jobs, models, project, repair
from engine.store.checks import VectorTable
from engine.store.connection import Handle

#: Vectors of a table that must find themselves; each costs some 30 ms in 100,000.
_SELF_QUERIES = 20


def _find_vectors(context: Context) -> Iterator[Problem]:
    """Find inconsistent tables, and vectors that are damaged, orphaned or missing."""
    with context.reading() as handle:
        strange = checks.read_unknown_tables(handle)
        if strange:
            message = f"Found {len(strange):,} tables of vectors that belong to no model"
            yield Problem(FindingCode.VECTOR_TABLES, message, len(strange), names=tuple(strange))
        context.checked |= {"vectors": 0, "path_vectors": 0}  # of chunks; of the paths of files
        for table in checks.vector_tables(handle):
            if checks.vector_table_exists(handle, table):
                yield from _find_in_table(context, handle, table)
                yield from _find_missing(handle, table, context.config)
            else:
                yield _broken(table, "is not there as a whole")


def _find_in_table(context: Context, handle: Handle, table: VectorTable) -> Iterator[Problem]:
    flipped: list[int] = []
    broken = 0
    for block in checks.check_blocks(handle, table):
        context.stop_if_cancelled()
        broken += not block.is_whole
        flipped += block.flipped
        context.checked["vectors" if table.is_of_chunks else "path_vectors"] += block.sound
    if broken:
        yield _broken(table, f"does not hold together in {broken:,} of its blocks")
    if flipped:
        message = f"Found {len(flipped):,} vectors of {table.owner} that differ from those written"
        places = _places(handle, table, flipped)
        yield Problem(
            FindingCode.VECTORS, message, len(flipped), flipped, places=places, table=table
        )
    orphaned = checks.read_orphaned_vectors(handle, table)
    if orphaned:
        message = f"Found {len(orphaned):,} vectors of {table.owner} that are gone"
        yield Problem(FindingCode.VECTORS_LOST, message, len(orphaned), orphaned, table=table)
    if not (broken or flipped) and not all(_find_themselves(context, handle, table)):
        yield _broken(table, "does not find its own vectors")


def _find_themselves(context: Context, handle: Handle, table: VectorTable) -> Iterator[bool]:
    for rowid in checks.read_some_rows(handle, table, _SELF_QUERIES):
        context.stop_if_cancelled()
        yield checks.finds_itself(handle, table, rowid)


def _find_missing(handle: Handle, table: VectorTable, config: Config) -> Iterator[Problem]:
    """Report missing vectors: damage where each row should have one, else a note."""
    if table.model != models.read_current_model(handle):
        return  # one that is being filled, or that goes
    missing = checks.read_owners_without_vectors(handle, table)
    if missing:
        is_expected = (
            config.model != Backend.STATIC
            or table.model.name != Backend.STATIC
            or jobs.read_active_job(handle) is not None
            or not all(branch.complete for branch in project.read_branches(handle))
        )
        yield Problem(
            FindingCode.VECTORS_MISSING,
            f"Found {len(missing):,} {table.owner} without a vector",
            len(missing),
            missing,
            places=_places(handle, table, missing),
            table=table,
            is_note=is_expected,
        )


def _broken(table: VectorTable, what: str) -> Problem:
    message = f"Found that the table {table.name} {what}"
    return Problem(FindingCode.VECTOR_TABLES, message, 1, table=table)


def _places(handle: Handle, table: VectorTable, ids: Sequence[int]) -> tuple[str, ...]:
    some = ids[:MOST_PLACES]
    if table.is_of_chunks:
        return tuple(map(display_path, checks.read_places_of_chunks(handle, some)))
    return tuple(map(display_path, checks.read_paths(handle, some).values()))


def _make_tables(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        with context.store.write(durable=True) as handle:
            if problem.table is None:
                repair.drop_unknown_tables(handle, problem.names)
                done = "Deleted tables of vectors that belong to no model"
            else:
                number = repair.recreate_vector_table(handle, problem.table)
                done = f"Made the table {problem.table.name} again, with {count(number, 'vector')}"
        yield done


def _delete_damaged(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        assert problem.table
        yield _delete(context, problem.table, problem.ids)


def _delete(context: Context, table: VectorTable, rows: Sequence[int]) -> str:
    delete_rows(context, rows, lambda handle, ids: repair.delete_vectors(handle, table, ids))
    return f"Deleted {count(len(rows), 'vector')} of {table.owner}"


def _settle(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
    """Delete orphaned vectors, and make missing ones."""
    with context.store.read() as handle:
        orphaned = {
            table: checks.read_orphaned_vectors(handle, table)
            for table in checks.vector_tables(handle)
        }
    for table, rows in orphaned.items():
        if rows:
            yield _delete(context, table, rows)
    if any(problem.table for problem in problems):
        yield from _embed(context)


def _embed(context: Context) -> Iterator[str]:
    """Make vectors that are missing, when their model is the one that the settings name."""
    try:
        embedder = context.open_embedder(context.config)
        if embedder is None:
            return
        try:
            embedder.prepare(context.cancelled)
            with context.store.read() as handle:
                known = models.read_models(handle)
            for model in known:
                if model.identity == embedder.identity:
                    tally = Tally()
                    run = Backfill(
                        context.store, model, embedder, tally, reads_text=reads_text(model)
                    )
                    run.fill(
                        on_progress=lambda done, total, _: context.report("embedding", done, total),
                        cancelled=context.cancelled,
                    )
                    yield f"Embedded {count(tally.embeddings, 'chunk')}"
        finally:
            embedder.close()
    except EmbedderUnavailableError as error:
        yield f"Left out vectors, which the next indexing run will make: {error.message}"


VECTORS = Check(
    name="vectors",
    find=_find_vectors,
    fixes={
        FindingCode.VECTOR_TABLES: _make_tables,
        FindingCode.VECTORS: _delete_damaged,
    },
    settle=_settle,
)
