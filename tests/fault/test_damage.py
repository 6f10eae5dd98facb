"""Damage of every kind is found, and a repair and a run make the index as a fresh one."""

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.config import Config
from engine.doctor_records import CheckCallback, CheckProgress, FindingCode, Severity
from engine.errors import (
    Cancelled,
    EngineError,
    IndexCorruptError,
    IndexTooNewError,
    UnavailableError,
)
from engine.index_records import IndexOptions
from engine.memory_records import NewMemory
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from engine.state_records import JobFilter, JobState
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.damage import Damage, indexed, repaired, run, verified
from tests.support.oracle import check_sound, contents
from tests.support.trees import SAMPLE, write_tree
from web.cli.doctor import repair_text
from web.terminal import Style

_LONG = "\n\n".join(
    f"def compute_{number}(value):\n    return value + {number}  # {'words ' * 20}"
    for number in range(60)
)
_JOB_ID = "0193a2f0-0000-7000-8000-000000000001"
_JOB = f"""
    INSERT INTO jobs (uuid, kind, origin, parameters, state, created_at_ms, finished_at_ms, attempt,
                      counts, error)
      VALUES ('{_JOB_ID}', 'index', 'request', '{{"only": ["app"]}}', 'failed', 1000 * unixepoch(),
              1000 * unixepoch(), 1, '{{"symbols": 7}}', '{{"error": "x", "message": "y"}}');
    INSERT INTO job_events (job_id, sequence, type, at_ms, context)
      SELECT jobs.id, e.key + 1, e.value, created_at_ms, '{{}}'
      FROM jobs, json_each('["created", "started", "failed"]') e"""
_FILES = {**SAMPLE, "app/long.py": _LONG, "app/copy.py": SAMPLE["app/session.py"]}


@pytest.fixture
def file(config: Config, tree: Path) -> Path:
    """Give the database file of an indexed project."""
    write_tree(tree, _FILES)
    indexed(config, tree)
    with open_catalog(config) as catalog:
        notes = catalog.open(str(tree)).checkpoints
        for number in range(3):
            context = {"number": number}
            notes.save(NewMemory(summary=f"Decision {number}", context=context, tags=("decision",)))
    return database(config, tree)


def database(config: Config, tree: Path) -> Path:
    return config.data_dir / f"{project_id_of(str(tree))}.db"


def vectors(kind: str, part: str, statement: str) -> Damage:
    def break_it(file: Path) -> None:
        table = damage.table_of_vectors(file, kind)
        run(file, statement.format(f"{table}{part}"))

    return break_it


def rows(statement: str) -> Damage:
    return lambda file: run(file, statement)


def job(column: str, value: str) -> Damage:
    """Add a job of which a column was damaged."""
    return rows(f"{_JOB}; UPDATE jobs SET {column} = '{value}'")


def overwrite_text(file: Path) -> None:
    with damage.writer(file) as handle:
        row: tuple[Any, ...] = handle.execute(
            "SELECT blob_id, packed FROM blob_texts ORDER BY length(packed) DESC"
        ).fetchall()[0]
        blob_id, packed = row
        broken = bytearray(packed)
        broken[len(broken) // 2] ^= 16
        handle.execute(
            "UPDATE blob_texts SET packed = ? WHERE blob_id = ?", (bytes(broken), blob_id)
        )


def lose_first_page(file: Path) -> None:
    file.write_bytes(bytes(4096) + file.read_bytes()[4096:])


_MIDDLE = "SELECT id FROM chunks ORDER BY id LIMIT 1 OFFSET 2"
BROKEN: dict[str, tuple[Damage, FindingCode]] = {
    "text": (overwrite_text, FindingCode.TEXTS),
    "references": (
        rows("UPDATE blob_texts SET marks = zeroblob(40) WHERE marks IS NOT NULL"),
        FindingCode.TEXTS,
    ),
    "names": (rows("UPDATE blob_names SET packed = zeroblob(40)"), FindingCode.TEXTS),
    "names are gone": (rows("DELETE FROM blob_names"), FindingCode.TEXTS),
    "text is gone": (rows("DELETE FROM blob_texts WHERE blob_id = 2"), FindingCode.TEXTS),
    "hash of a text": (rows("UPDATE blobs SET text_hash = zeroblob(32)"), FindingCode.TEXTS),
    "hash of a chunk": (
        rows(f"UPDATE chunks SET hash = zeroblob(16) WHERE id = ({_MIDDLE})"),
        FindingCode.TEXTS,
    ),
    "lines of a chunk": (
        rows(f"UPDATE chunks SET line_start = 0 WHERE id = ({_MIDDLE})"),
        FindingCode.TEXTS,
    ),
    "chunk is gone": (rows(f"DELETE FROM chunks WHERE id = ({_MIDDLE})"), FindingCode.TEXTS),
    "bytes of a name": (
        rows("UPDATE symbols SET name = CAST(x'ff41' AS TEXT) WHERE id = 3"),
        FindingCode.TEXTS,
    ),
    "bytes of a language": (
        rows("UPDATE blobs SET language = CAST(x'ff' AS TEXT) WHERE id = 1"),
        FindingCode.TEXTS,
    ),
    "bytes of a branch": (
        rows("UPDATE branches SET name = CAST(x'ff' AS TEXT)"),
        FindingCode.PAGES,
    ),
    "patterns of the project": (
        rows("UPDATE project SET include_patterns = '[oops'"),
        FindingCode.PAGES,
    ),
    "patterns are no list": (
        rows("UPDATE project SET exclude_patterns = '7'"),
        FindingCode.PAGES,
    ),
    "project is gone": (rows("DELETE FROM project"), FindingCode.PAGES),
    "symbols are gone": (rows("DELETE FROM symbols WHERE id > 3"), FindingCode.SYMBOLS),
    "symbol of nothing": (
        rows("UPDATE symbols SET blob_id = 999 WHERE id = 2"),
        FindingCode.STRAY_ROWS,
    ),
    "count of symbols": (
        rows(f"UPDATE chunks SET symbol_count = 100000 WHERE id = ({_MIDDLE})"),
        FindingCode.SYMBOLS,
    ),
    "parent of a symbol": (
        rows("UPDATE symbols SET parent_id = 12345 WHERE id = 1"),
        FindingCode.SYMBOLS,
    ),
    "blob is gone": (rows("DELETE FROM blobs WHERE id = 1"), FindingCode.STRAY_ROWS),
    "branch is gone": (rows("DELETE FROM branches"), FindingCode.STRAY_ROWS),
    "fingerprint is gone": (rows("DELETE FROM fingerprints"), FindingCode.STRAY_ROWS),
    "words of a chunk are gone": (
        rows(f"DELETE FROM chunk_terms WHERE rowid = ({_MIDDLE})"),
        FindingCode.WORDS_MISSING,
    ),
    "words of nothing": (
        rows("INSERT INTO chunk_terms (rowid, body) VALUES (98765, 'ghost')"),
        FindingCode.WORDS_LOST,
    ),
    "other words": (
        rows(
            f"""DELETE FROM chunk_terms WHERE rowid = ({_MIDDLE});
                INSERT INTO chunk_terms (rowid, body) VALUES (({_MIDDLE}), 'quite another')"""
        ),
        FindingCode.WORDS,
    ),
    "pages of words": (
        rows("UPDATE chunk_terms_data SET block = zeroblob(length(block)) WHERE id > 10"),
        FindingCode.WORDS,
    ),
    "words of a path are gone": (
        rows("DELETE FROM file_paths WHERE rowid = 1"),
        FindingCode.PATHS_MISSING,
    ),
    "path of nothing": (
        rows("INSERT INTO file_paths (rowid, stem) VALUES (98765, 'ghost')"),
        FindingCode.PATHS_LOST,
    ),
    "path has another name": (
        rows("UPDATE files SET path = CAST('other/name.py' AS BLOB) WHERE id = 1"),
        FindingCode.PATHS,
    ),
    "words of a memory are gone": (
        rows("DELETE FROM memory_terms WHERE rowid = 2"),
        FindingCode.MEMORY_WORDS_MISSING,
    ),
    "words of no memory": (
        rows("INSERT INTO memory_terms (rowid, summary) VALUES (98765, 'ghost')"),
        FindingCode.MEMORY_WORDS_LOST,
    ),
    "memory without its index": (
        rows("UPDATE memories SET summary = 'Quite another' WHERE id = 2"),
        FindingCode.MEMORY_WORDS,
    ),
    "pages of memories' words": (
        rows("UPDATE memory_terms_data SET block = zeroblob(length(block)) WHERE id > 10"),
        FindingCode.MEMORY_WORDS,
    ),
    "context of a memory": (
        rows("UPDATE memories SET context = substr(context, 2) WHERE id = 2"),
        FindingCode.MEMORIES,
    ),
    "tags of a memory": (
        rows("UPDATE memories SET tags = '{}' WHERE id = 2"),
        FindingCode.MEMORIES,
    ),
    "bytes of a memory": (
        rows("UPDATE memories SET summary = CAST(x'ff416c706861' AS TEXT) WHERE id = 2"),
        FindingCode.MEMORIES,
    ),
    **{
        f"{column} of a job": (job(column, value), FindingCode.JOBS)
        for column, value in (
            ("parameters", "{oops"),
            ("counts", "[1]"),
            ("suspects", ""),
            ("result", "7"),
            ("error", "{"),
        )
    },
    "bits of validity": (
        vectors("chunk", "_chunks", "UPDATE {} SET validity = zeroblob(length(validity))"),
        FindingCode.VECTOR_TABLES,
    ),
    "block of vectors is gone": (
        vectors("chunk", "_vector_chunks01", "DELETE FROM {}"),
        FindingCode.VECTOR_TABLES,
    ),
    "table of vectors is gone": (vectors("file", "", "DROP TABLE {}"), FindingCode.VECTOR_TABLES),
    "vectors of no model": (
        rows("CREATE VIRTUAL TABLE chunk_vectors_77 USING vec0 (exact int8[8])"),
        FindingCode.VECTOR_TABLES,
    ),
    "vectors are gone": (
        vectors("chunk", "", f"DELETE FROM {{}} WHERE rowid = ({_MIDDLE})"),
        FindingCode.VECTORS_MISSING,
    ),
    "vectors of nothing": (
        vectors(
            "file", "", "INSERT INTO {} (rowid, exact) VALUES (98765, vec_int8(zeroblob(100)))"
        ),
        FindingCode.VECTORS_LOST,
    ),
    "numbers of vectors": (
        vectors("file", "_vector_chunks00", "UPDATE {} SET vectors = zeroblob(length(vectors))"),
        FindingCode.VECTORS,
    ),
    "index of SQLite is gone": (rows("DROP INDEX chunks_by_place"), FindingCode.SCHEMA),
    "trigger is gone": (rows("DROP TRIGGER job_events_stay"), FindingCode.SCHEMA),
    "table is gone": (rows("DROP TABLE skips"), FindingCode.SCHEMA),
    "column is gone": (rows("ALTER TABLE blobs DROP COLUMN licence"), FindingCode.SCHEMA),
    "another program's": (rows("PRAGMA application_id = 7"), FindingCode.UNREADABLE),
    "half of the file": (
        lambda file: os.truncate(file, file.stat().st_size // 8192 * 4096),
        FindingCode.PAGES,
    ),
    "end of the file": (
        lambda file: os.truncate(file, file.stat().st_size - 4096 * 3),
        FindingCode.PAGES,
    ),
    "all of the file": (lambda file: os.truncate(file, 0), FindingCode.UNREADABLE),
    "first page": (
        lose_first_page,
        FindingCode.UNREADABLE,
    ),
    "no database": (
        damage.break_file,
        FindingCode.UNREADABLE,
    ),
}
_OPENING_FAILS = (FindingCode.PAGES, FindingCode.UNREADABLE, FindingCode.SCHEMA)


@pytest.mark.parametrize("name", BROKEN)
def test_damage_is_found_and_mended(name: str, config: Config, tree: Path, file: Path) -> None:
    break_it, code = BROKEN[name]
    fresh = contents(file)
    assert verified(config, tree).ok
    break_it(file)
    found = verified(config, tree)
    codes = {finding.code for finding in found.findings if finding.severity is Severity.DAMAGE}
    assert not found.ok
    assert code in codes or (code in _OPENING_FAILS and codes & set(_OPENING_FAILS)), found
    assert found.warnings[-1] == f"Recommend: run cairn doctor {tree} --repair"
    assert found.log is not None
    assert f"DAMAGE {min(codes, key=lambda each: list(FindingCode).index(each))}" in Path(
        found.log
    ).read_text("utf-8")
    repair = repaired(config, tree)
    assert repair.ok, repair.after
    assert repair.done
    assert verified(config, tree).ok
    indexed(config, tree)
    check_sound(file)
    assert contents(file) == fresh
    again = verified(config, tree)
    assert (again.ok, again.findings) == (True, ())


def check_job_is_mended(config: Config, tree: Path, parts: str) -> None:
    """The damaged parts of the job are named, and a repair keeps the others."""
    found = verified(config, tree)
    [finding] = [each for each in found.findings if each.severity is Severity.DAMAGE]
    assert finding.places == (f"{_JOB_ID}: {parts}",)
    assert repaired(config, tree).done == ("Kept the readable parts of 1 job",)


def test_a_job_with_damaged_parts_is_named_and_keeps_the_others(
    config: Config, tree: Path, file: Path
) -> None:
    run(file, f"{_JOB}; UPDATE jobs SET parameters = '{{oops', result = 'x', error = '{{'")
    check_job_is_mended(config, tree, "parameters, result, error")
    with open_catalog(config) as catalog:
        [kept] = catalog.jobs.list(JobFilter()).jobs
    assert (kept.status, kept.parameters, kept.result) == (JobState.FAILED, {}, {})
    assert kept.counts["symbols"] == 7
    assert kept.error is not None
    assert "lost when the index was damaged" in str(kept.error["message"])


def test_an_event_with_a_damaged_context_is_named_and_keeps_the_rest(
    config: Config, tree: Path, file: Path
) -> None:
    row = f"(SELECT id FROM jobs WHERE uuid = '{_JOB_ID}'), 7, 'progress', 5, '{{oops'"
    columns = "job_id, sequence, type, at_ms, context"
    run(file, f"{_JOB}; INSERT INTO job_events ({columns}) VALUES ({row})")
    check_job_is_mended(config, tree, "1 event")
    with damage.writer(file) as handle:
        events = handle.execute("SELECT sequence, type, at_ms, context FROM job_events").fetchall()
    assert [each[0] for each in events if each[2] != 5] == [1, 2, 3]
    assert [each for each in events if each[2] == 5] == [(7, "progress", 5, "{}")]


def test_a_damaged_checkpoint_is_dropped_and_its_job_begins_at_an_earlier_one(
    config: Config, tree: Path, file: Path
) -> None:
    row = f"(SELECT id FROM jobs WHERE uuid = '{_JOB_ID}'), 'position', 5, '{{}}'"
    insert = "INSERT INTO job_checkpoints (job_id, kind, at_ms, state) VALUES"
    run(file, f"{_JOB}; {insert} ({row.format('{}')}), ({row.format('[')})")
    check_job_is_mended(config, tree, "1 checkpoint")
    with damage.writer(file) as handle:
        assert handle.execute("SELECT state FROM job_checkpoints").fetchall() == [("{}",)]


def test_a_file_that_is_made_anew_has_readable_jobs(config: Config, tree: Path, file: Path) -> None:
    job("parameters", "{oops")(file)
    damage.checkpointed(file)
    damage.zero_pages(file, "chunks")
    repair = repaired(config, tree)
    assert repair.aside
    assert repair.ok, repair.after


def _raising(error: Exception, after: str, step: str) -> CheckCallback:
    """Give a callback of a repair that fails at a step, once another one has been seen."""
    seen: list[str] = []

    def fail(progress: CheckProgress) -> None:
        if after in seen and progress.step == step:
            raise error
        seen.append(progress.step)

    return fail


@pytest.mark.parametrize(
    ("after", "step", "told"),
    [
        ("repairing stray_rows", "pages", "The check after the repair failed: the disk fails"),
        ("repairing memories", "repairing words", "The repair failed: the disk fails"),
    ],
)
def test_what_was_repaired_is_told_though_what_follows_fails(
    after: str, step: str, told: str, config: Config, tree: Path, file: Path
) -> None:
    run(file, "UPDATE memories SET tags = '{}' WHERE id = 2; DELETE FROM fingerprints")
    failing = _raising(UnavailableError("the disk fails"), after, step)
    with open_catalog(config) as catalog:
        repair = catalog.doctor(str(tree)).repair(on_progress=failing)
    assert "Kept the readable parts of 1 memory" in repair.done
    assert (repair.ok, repair.kept) == (False, ())
    [finding] = repair.after.findings
    assert (finding.code, finding.message) == (FindingCode.UNFINISHED, told)
    assert finding.fix == f"cairn doctor {tree} --repair"
    assert told in repair_text(repair, Style())
    assert repaired(config, tree).ok


def test_a_repair_that_fails_before_it_did_anything_raises(
    config: Config, tree: Path, file: Path
) -> None:
    run(file, "UPDATE memories SET tags = '{}' WHERE id = 2")
    failing = _raising(UnavailableError("the disk fails"), "tables", "repairing memories")
    with open_catalog(config) as catalog, pytest.raises(UnavailableError):
        catalog.doctor(str(tree)).repair(on_progress=failing)


def test_a_repair_that_is_stopped_tells_what_it_has_done(
    config: Config, tree: Path, file: Path
) -> None:
    run(file, "UPDATE memories SET tags = '{}' WHERE id = 2")
    seen: list[str] = []
    with open_catalog(config) as catalog, pytest.raises(Cancelled) as raised:
        catalog.doctor(str(tree)).repair(
            on_progress=lambda progress: seen.append(progress.step),
            cancelled=lambda: seen.count("tables") == 2,
        )
    assert str(raised.value).startswith("Kept the readable parts of 1 memory; ")
    assert str(raised.value).endswith("the check after the repair was stopped")


def flips(config: Config, tree: Path, file: Path, number: int) -> dict[str, int]:
    """Flip single bits in texts, names and vectors, each in a sound index; give those found."""
    whole = file.read_bytes()
    random_ = random.Random(41)
    pieces = {
        "texts": damage.pieces_of_texts(file),
        "names": damage.pieces_of_names(file),
        "vectors": damage.pieces_of_vectors(file),
    }
    whole = file.read_bytes()
    found = dict.fromkeys(pieces, 0)
    with open_catalog(config) as catalog:
        doctor = catalog.doctor(str(tree))
        for kind, those in pieces.items():
            done = 0
            while done < number // 3:
                # A name has no hash: what is found is that it is no text any more.
                bits = damage.HIGH_BITS if kind == "names" else damage.ALL_BITS
                if not damage.flip_bit(file, random_.choice(those), random_, bits):
                    continue
                done += 1
                seen = doctor.verify()
                assert not seen.ok
                found[kind] += 1
                asks_truly(config, tree)
                file.write_bytes(whole)
    return found


def asks_truly(config: Config, tree: Path) -> None:
    """Whatever is asked, what is shown is on the disk, or the answer fails."""
    with open_catalog(config) as catalog:
        for query, mode in (("session", Mode.HYBRID), ("compute value", Mode.KEYWORD)):
            try:
                answer = catalog.open(str(tree)).search(SearchRequest(query=query, mode=mode))
            except IndexCorruptError:
                continue
            for hit in answer.hits:
                assert hit.snippet in (tree / hit.path).read_text("utf-8")


def test_a_flipped_bit_is_found_by_its_hash(config: Config, tree: Path, file: Path) -> None:
    found = flips(config, tree, file, 30)
    assert found == {"texts": 10, "names": 10, "vectors": 10}
    print(f"30 flipped bits: {found} found")


@pytest.mark.soak
def test_three_hundred_flipped_bits_are_found(config: Config, tree: Path, file: Path) -> None:
    found = flips(config, tree, file, 300)
    print(f"300 flipped bits: {found} found")
    assert found == {"texts": 100, "names": 100, "vectors": 100}


def test_a_search_never_shows_a_wrong_text(config: Config, tree: Path, file: Path) -> None:
    with damage.writer(file) as handle:
        texts: list[tuple[Any, ...]] = handle.execute(
            "SELECT blob_id, packed FROM blob_texts"
        ).fetchall()
        for blob_id, packed in texts:
            wrong = bytes(packed).replace(b"session", b"mission")
            handle.execute("UPDATE blob_texts SET packed = ? WHERE blob_id = ?", (wrong, blob_id))
    with open_catalog(config) as catalog:
        index = catalog.open(str(tree))
        for mode, query in ((Mode.KEYWORD, "session"), (Mode.REGEX, "mission")):
            with pytest.raises(IndexCorruptError, match=r"does not\s+match its hash") as caught:
                index.search(SearchRequest(query=query, mode=mode))
            assert caught.value.hint == f"cairn doctor {tree} --repair"


def test_a_lost_wal_leaves_an_index_that_can_be_used(
    config: Config, tree: Path, file: Path
) -> None:
    fresh = contents(file)
    kept = {suffix: f"{file}{suffix}" for suffix in ("-wal", "-shm")}
    with open_catalog(config) as catalog:
        index = catalog.open(str(tree))
        (tree / "new.py").write_text("def new():\n    return 1\n")
        index.index(IndexOptions(only=("new.py",)))
        shutil.copy(file, f"{file}.copy")
        assert Path(kept["-wal"]).exists()
    shutil.move(f"{file}.copy", file)
    for name in kept.values():
        Path(name).unlink(missing_ok=True)
    repaired(config, tree)
    (tree / "new.py").unlink()
    indexed(config, tree)
    check_sound(file)
    assert contents(file) == fresh


def test_a_lost_column_is_damage_to_who_writes_it(config: Config, tree: Path, file: Path) -> None:
    BROKEN["column is gone"][0](file)
    (tree / "new.py").write_text("def new():\n    return 1\n")
    with open_catalog(config) as catalog:
        with pytest.raises(IndexCorruptError, match="no column named licence") as caught:
            catalog.open(str(tree)).index()
        assert "cairn doctor PATH --repair" in caught.value.hint


@pytest.mark.parametrize("name", ["patterns of the project", "bytes of a branch"])
def test_a_rebuild_needs_no_row_of_the_project(
    name: str, config: Config, tree: Path, file: Path
) -> None:
    """Whatever of it is damaged, a job that builds a new index comes to its end."""
    fresh = contents(file)
    BROKEN[name][0](file)
    with open_catalog(config) as catalog:
        with pytest.raises(IndexCorruptError, match="the index is damaged"):
            catalog.open(str(tree)).index()
        catalog.jobs.run_here()
        clean = IndexOptions(force_clean=True)
        job = catalog.jobs.follow(catalog.jobs.submit(str(tree), clean).job_id)
        assert job.status is JobState.COMPLETED, job.error
        assert catalog.open(str(tree)).checkpoints.list(only_memories=True).total == 3
    assert verified(config, tree).ok
    assert contents(file) == fresh


def test_a_newer_file_is_never_touched(config: Config, tree: Path, file: Path) -> None:
    run(file, "PRAGMA user_version = 9999")
    before = file.read_bytes()
    for step in (verified, repaired):
        with pytest.raises(IndexTooNewError):
            step(config, tree)
    assert file.read_bytes() == before


def test_damage_breaks_one_project_only(config: Config, tmp_path: Path) -> None:
    roots = [write_tree(tmp_path / name, SAMPLE) for name in ("one", "two", "three")]
    for root in roots:
        indexed(config, root)
    damage.checkpointed(database(config, roots[1]))
    BROKEN["no database"][0](database(config, roots[1]))
    with open_catalog(config) as catalog:
        answer = catalog.search([str(root) for root in roots], SearchRequest(query="session"))
        assert {hit.project for hit in answer.hits} == {str(roots[0]), str(roots[2])}
        assert [error.project for error in answer.errors] == [str(roots[1])]
        assert [catalog.doctor(str(root)).verify().ok for root in roots] == [True, False, True]
        with pytest.raises(EngineError) as caught:
            catalog.open(str(roots[1]))
        assert "cairn doctor PATH --repair" in caught.value.hint


def test_a_wrong_model_is_not_embedded_with(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    fakes = replace(config, model="fake:a")
    indexed(fakes, tree)
    file = database(config, tree)
    BROKEN["numbers of vectors"][0](file)
    repair = repaired(replace(config, model="fake:b"), tree)
    assert repair.ok
    assert repair.needs_index
    indexed(fakes, tree)
    assert verified(fakes, tree).findings == ()
