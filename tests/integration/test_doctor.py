"""The doctor of sound indexes of all kinds; copies, space, and beginning anew."""

import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.doctor_records import Backup, CheckProgress, FindingCode, Severity
from engine.errors import Cancelled, InvalidPathError, ProjectBusyError, ProjectNotFoundError
from engine.files import backups_in
from engine.index_records import IndexOptions
from engine.jobs.operation_log import found_damage
from engine.locks import indexing_lock
from engine.memory_records import NewMemory
from engine.project_files import clean_up
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from engine.state_records import JobFilter, JobState
from engine.store import repair
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.jobs import until
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree


def database(config: Config, tree: Path) -> Path:
    return config.data_dir / f"{project_id_of(str(tree))}.db"


def git(tree: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=tree, check=True, capture_output=True)


def test_a_fresh_index_is_sound_and_counted(config: Config, tree: Path, catalog: Catalog) -> None:
    write_tree(tree, {**SAMPLE, "empty.py": "", "latin.txt": "caf\xe9\r\n".encode("latin-1")})
    catalog.create(str(tree)).index()
    steps: list[CheckProgress] = []
    found = catalog.doctor(str(tree / "app")).verify(on_progress=steps.append)
    assert (found.ok, found.findings, found.warnings, found.suggested_fixes) == (True, (), (), ())
    assert found.path == str(tree)
    assert found.checked["files"] == len(SAMPLE) + 2
    assert found.checked["vectors"] == found.checked["chunks"]
    assert found.checked["path_vectors"] == found.checked["files"]
    assert {"pages", "texts", "vectors"} <= {step.step for step in steps}
    assert found.log is not None
    lines = Path(found.log).read_text("utf-8").splitlines()
    assert lines[0].endswith("] VERIFY START")
    assert lines[1] == f"Repository: {tree}"
    assert any(line.endswith("] VERIFY COMPLETE: sound") for line in lines)
    assert Path(found.log).name.startswith("verify-")


def test_a_project_that_is_being_filled_and_an_empty_one_are_sound(
    config: Config, tree: Path, catalog: Catalog
) -> None:
    catalog.create(str(tree))
    assert catalog.doctor(str(tree)).verify().findings == ()
    catalog.create(str(tree)).index()
    assert catalog.doctor(str(tree)).verify().findings == ()


def test_an_index_of_an_earlier_program_is_sound_without_what_that_did_not_store(
    config: Config, tree: Path, catalog: Catalog
) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    index.index()
    damage.run(database(config, tree), "DELETE FROM blob_names")
    lost = catalog.doctor(str(tree)).verify().findings
    assert [each.code for each in lost] == [FindingCode.TEXTS]
    damage.run(database(config, tree), "UPDATE fingerprints SET value = 'earlier'")
    assert catalog.doctor(str(tree)).verify().findings == ()
    index.index()
    assert catalog.doctor(str(tree)).verify().findings == ()
    check_sound(database(config, tree))


def test_incremental_branches_and_copies_are_sound(
    config: Config, tree: Path, catalog: Catalog
) -> None:
    write_tree(tree, SAMPLE)
    git(tree, "init", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-m", "first")
    index = catalog.create(str(tree))
    index.index()
    git(tree, "checkout", "-b", "other")
    write_tree(
        tree, {"app/session.py": "def changed():\n    pass\n", "new.py": SAMPLE["README.md"]}
    )
    (tree / "README.md").unlink()
    index.index()
    git(tree, "add", "-A")
    git(tree, "commit", "-m", "second")
    git(tree, "checkout", "main")
    index.index(IndexOptions(only=("README.md",)))
    index.index()
    assert catalog.doctor(str(tree)).verify().findings == ()


@pytest.mark.parametrize(
    "models", [("none",), ("fake:a",), ("static", "fake:a"), ("none", "static")]
)
def test_models_of_all_kinds_are_sound(models: tuple[str, ...], config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    for model in models:
        chosen = replace(config, model=model)
        damage.indexed(chosen, tree)
        assert damage.verified(chosen, tree).findings == ()


def test_vectors_that_a_model_still_owes_are_a_note(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    fakes = Fakes(FakeEmbedder("a", fail_after=1))
    with open_catalog(replace(config, model="fake:a"), open_embedder=fakes) as catalog:
        catalog.create(str(tree)).index()
        found = catalog.doctor(str(tree)).verify()
    assert found.ok
    assert {each.code for each in found.findings} == {FindingCode.VECTORS_MISSING}
    assert {each.severity for each in found.findings} == {Severity.NOTE}
    assert found.suggested_fixes == (f"cairn index {tree}",)


def test_a_verification_can_be_stopped(tree: Path, catalog: Catalog) -> None:
    write_tree(tree, SAMPLE)
    catalog.create(str(tree)).index()
    for most in range(8):
        asked = iter([False] * most)
        with pytest.raises(Cancelled):
            catalog.doctor(str(tree)).verify(cancelled=partial(next, asked, True))


def test_what_dead_processes_left_is_told_and_deleted(
    config: Config, tree: Path, catalog: Catalog
) -> None:
    write_tree(tree, SAMPLE)
    catalog.create(str(tree)).index()
    left = database(config, tree).with_suffix(".rebuilt-4194305")
    left.touch()
    found = catalog.doctor(str(tree)).verify()
    assert (found.ok, found.findings[0].code) == (True, FindingCode.LEFTOVERS)
    assert found.findings[0].places == (left.name,)
    catalog.doctor(str(tree)).repair()
    assert not left.exists()


def test_a_job_that_nobody_runs_is_told(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with open_catalog(config) as catalog:
        ledger = catalog.create(str(tree)).for_jobs().ledger
        job = ledger.enqueue({}).row
        found = catalog.doctor(str(tree)).verify()
    assert found.ok
    assert f"Found job {job.uuid} unfinished, and no process is running it" in found.warnings


def test_nobody_mends_what_is_being_indexed(config: Config, tree: Path, catalog: Catalog) -> None:
    write_tree(tree, SAMPLE)
    catalog.create(str(tree)).index()
    doctor = catalog.doctor(str(tree))
    with indexing_lock(database(config, tree)):
        assert doctor.verify().ok
        for act in (doctor.repair, doctor.compact, doctor.rebuild):
            with pytest.raises(ProjectBusyError):
                act()


def test_a_check_of_a_file_that_was_never_filled_changes_nothing(
    config: Config, tree: Path, catalog: Catalog
) -> None:
    file = database(config, tree)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    doctor = catalog.doctor(str(tree))
    first, second = doctor.verify(), doctor.verify()
    assert [each.code for each in first.findings] == [FindingCode.UNREADABLE]
    assert second.findings == first.findings
    assert first.log is None
    with pytest.raises(ProjectNotFoundError):
        catalog.open(str(tree))
    os.utime(file, (1, 1))
    clean_up(config.data_dir)
    assert not file.exists()


def test_a_folder_without_a_project_has_no_doctor(tree: Path, catalog: Catalog) -> None:
    with pytest.raises(ProjectNotFoundError):
        catalog.doctor(str(tree))


def test_a_copy_made_while_a_run_goes_on_is_whole(
    config: Config, tree: Path, tmp_path: Path
) -> None:
    write_tree(
        tree, {f"p{n}/m{n}.py": SAMPLE["app/session.py"] + f"\nN = {n}\n" for n in range(150)}
    )
    copies = [tmp_path / f"copy{number}.db" for number in range(6)]
    with open_catalog(replace(config, batch_bytes=65536)) as catalog:
        index = catalog.create(str(tree))
        run = threading.Thread(target=index.index)
        run.start()
        for copy in copies:
            catalog.doctor(str(tree)).back_up(copy)
        run.join()
        last = catalog.doctor(str(tree)).back_up(tmp_path / "last.db")
    for copy in copies:
        check_sound(copy)
    file = database(config, tree)
    assert contents(Path(last.file)) == contents(file)
    assert last.size_bytes == Path(last.file).stat().st_size
    damage.break_file(file)
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    shutil.copy(last.file, file)  # restored
    with open_catalog(config) as catalog:
        assert catalog.doctor(str(tree)).verify().findings == ()
        report = catalog.create(str(tree)).index()
        assert (report.files_indexed, report.files_unchanged) == (0, 150)


def test_a_copy_never_replaces_anything(tree: Path, tmp_path: Path, catalog: Catalog) -> None:
    write_tree(tree, SAMPLE)
    catalog.create(str(tree)).index()
    doctor = catalog.doctor(str(tree))
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    (tmp_path / "link.db").symlink_to(tmp_path / "nowhere")
    for target in (taken, tmp_path / "link.db", tmp_path / "no" / "folder.db"):
        with pytest.raises(InvalidPathError):
            doctor.back_up(target)
    assert taken.read_text() == "mine"
    assert [each for each in tmp_path.iterdir() if ".part-" in each.name] == []


def test_two_copies_of_one_name_at_once_are_one_whole_copy(
    config: Config, tree: Path, tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tree, SAMPLE)
    catalog.create(str(tree)).index()
    doctor = catalog.doctor(str(tree))
    target = tmp_path / "copy.db"
    both = threading.Barrier(2, timeout=patience(10))
    sound = repair._check_copy

    def check_when_both_are_copied(part: Path) -> None:
        both.wait()
        sound(part)

    def back_up() -> Backup | None:
        try:
            return doctor.back_up(target)
        except InvalidPathError:  # there is one already
            return None

    monkeypatch.setattr(repair, "_check_copy", check_when_both_are_copied)
    with ThreadPoolExecutor(2) as pool:
        done = [each.result() for each in [pool.submit(back_up) for _ in range(2)]]
    [made] = filter(None, done)
    assert made.size_bytes == target.stat().st_size
    assert contents(target) == contents(database(config, tree))
    assert [each for each in tmp_path.iterdir() if ".part-" in each.name] == []


def test_partial_copies_of_dead_processes_are_deleted(
    config: Config, tree: Path, catalog: Catalog
) -> None:
    write_tree(tree, SAMPLE)
    catalog.create(str(tree)).index()
    folder = backups_in(config.data_dir)
    folder.mkdir()
    dead, alive = 4_194_305, os.getpid()  # Linux has no process above 4,194,304
    left = [
        folder / f".{name}.db.part-{dead}{end}" for name in "ab" for end in ("", "-7", "-7-wal")
    ]
    kept = [folder / f".a.db.part-{alive}-7", folder / f"a.part-{dead}.db"]
    for each in (*left, *kept):
        each.write_bytes(b"half a copy")
    catalog.doctor(str(tree)).back_up(folder / "a.db")
    assert [each.name for each in left if each.exists()] == [
        each.name for each in left if each.name.startswith(".b")
    ]
    clean_up(config.data_dir)
    assert [each for each in left if each.exists()] == []
    assert sorted(folder.iterdir()) == sorted([*kept, folder / "a.db"])


def test_compaction_gives_space_back(config: Config, tree: Path, catalog: Catalog) -> None:
    write_tree(tree, {f"m{n}.py": f"def part_{n}():\n    return {n}\n" * 9 for n in range(80)})
    index = catalog.create(str(tree))
    index.index()
    for path in tree.glob("m[1-5]*.py"):
        path.unlink()
    index.index(IndexOptions())
    before = contents(database(config, tree))
    done = catalog.doctor(str(tree)).compact()
    assert done.bytes_after < done.bytes_before
    assert contents(database(config, tree)) == before
    check_sound(database(config, tree))


@pytest.mark.parametrize("broken", [None, "rows", "pages", "file"])
def test_force_clean_begins_anew_and_keeps_jobs_and_scope(
    broken: str | None, config: Config, tree: Path
) -> None:
    write_tree(tree, {**SAMPLE, "vendor/x.py": "x = 1\n"})
    file = database(config, tree)
    with open_catalog(config) as catalog:
        asked = catalog.jobs.submit(str(tree), IndexOptions(exclude_patterns=("vendor/**",)))
        assert catalog.jobs.follow(asked.job_id).status is JobState.COMPLETED
        old = contents(file)
    damage.checkpointed(file)
    if broken == "rows":
        damage.run(file, "DELETE FROM chunks; DROP TABLE skips")
    elif broken == "pages":
        damage.zero_pages(file, "chunk_terms_data")
    elif broken == "file":
        damage.break_file(file)
    with open_catalog(config) as catalog:
        again = catalog.jobs.submit(str(tree), IndexOptions(force_clean=True))
        job = catalog.jobs.follow(again.job_id)
        assert (job.status, job.parameters["force_clean"]) == (JobState.COMPLETED, True)
        assert job.result is not None
        jobs = [each.job_id for each in catalog.jobs.list(JobFilter()).jobs]
        until(lambda: catalog.jobs.show(again.job_id).log is not None)  # written after the end
        log = catalog.jobs.show(again.job_id).log
        assert log is not None
        assert "Force Clean: true" in Path(log).read_text("utf-8")
    if broken == "file":  # nothing of it could be read
        assert (jobs, job.result["files_indexed"]) == ([again.job_id], len(SAMPLE) + 1)
    else:
        assert jobs == [again.job_id, asked.job_id]
        assert job.result["files_indexed"] == len(SAMPLE)
        assert contents(file) == old
    check_sound(file)
    with open_catalog(config) as catalog:
        assert catalog.doctor(str(tree)).verify().findings == ()
        assert catalog.open(str(tree)).search(SearchRequest(query="session")).hits


def test_force_clean_without_a_job(config: Config, tree: Path, catalog: Catalog) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    index.index()
    damage.run(database(config, tree), "DELETE FROM chunks")
    assert not catalog.doctor(str(tree)).verify().ok
    assert found_damage(config.data_dir / "logs" / project_id_of(str(tree)))
    assert index.index(IndexOptions(force_clean=True)).files_indexed == len(SAMPLE)
    assert not found_damage(config.data_dir / "logs" / project_id_of(str(tree)))
    assert index.index().files_unchanged == len(SAMPLE)


def test_jobs_and_memories_outlive_a_file_that_is_made_anew(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    file = database(config, tree)
    with open_catalog(config) as catalog:
        asked = catalog.jobs.submit(str(tree), IndexOptions(exclude_patterns=("*.md",)))
        events = catalog.jobs.events(catalog.jobs.follow(asked.job_id).job_id)
        note = NewMemory(summary="Tokens expire after an hour", tags=("decision",))
        saved = catalog.open(str(tree)).checkpoints.save(note)
        torn = catalog.open(str(tree)).checkpoints.save(NewMemory(summary="Torn in two"))
    damage.run(file, "UPDATE memories SET context = '{' WHERE summary = 'Torn in two'")
    damage.checkpointed(file)
    damage.zero_pages(file, "chunks")
    repair = damage.repaired(config, tree)
    assert repair.ok
    assert repair.needs_index
    assert repair.aside is not None
    assert Path(repair.aside).exists()
    assert {"jobs: 1", "memories: 2"} <= set(repair.kept)
    with open_catalog(config) as catalog:
        assert catalog.jobs.events(asked.job_id) == events
        index = catalog.open(str(tree))
        assert index.checkpoints.get(saved.id) == saved
        [found] = index.checkpoints.search("tokens expire", tags=("decision",))
        assert found.id == saved.id
        assert index.checkpoints.get(torn.id).context == {"damaged": "{"}
        assert index.index().exclude_patterns == ("*.md",)
        assert len(catalog.projects()) == 1
    check_sound(file)


def test_calls_of_what_has_no_plain_name_are_sound(tree: Path, catalog: Catalog) -> None:
    files = {
        "run.sh": "./start.sh\n",
        "private.js": "class A { f() { this.#x() } }\n",
        "odd.scala": "val x = `a b`(1)\n",
    }
    catalog.create(str(write_tree(tree, files))).index()
    found = catalog.doctor(str(tree)).verify()
    assert (found.ok, found.findings) == (True, ())
