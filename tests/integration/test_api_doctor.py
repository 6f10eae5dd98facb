"""The doctor over HTTP: real damage is told, what is suggested is done, and all is right again."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.locks import indexing_lock, is_being_indexed
from tests.support import damage
from tests.support.command import Command
from tests.support.damage import Damage
from tests.support.jobs import until
from tests.support.oracle import check_sound, contents
from tests.support.pages import PATIENT, await_log, index_folder
from tests.support.patience import patience
from tests.support.server import Server, ask_until, serving
from tests.support.trees import SAMPLE, write_tree

pytestmark = pytest.mark.slow


def _rows(statement: str) -> Damage:
    return lambda file: damage.run(file, statement)


def _numbers_of_vectors(file: Path) -> None:
    table = damage.table_of_vectors(file, "file")
    damage.run(file, f"UPDATE {table}_vector_chunks00 SET vectors = zeroblob(length(vectors))")


def _lose_chunks(file: Path) -> None:
    damage.zero_pages(file, "chunks")


BROKEN: dict[str, tuple[Damage, str]] = {
    "text": (_rows("UPDATE blob_texts SET packed = zeroblob(9) WHERE blob_id = 1"), "texts"),
    "words": (_rows("DELETE FROM chunk_terms WHERE rowid < 3"), "words_missing"),
    "words of memories": (_rows("DELETE FROM memory_terms"), "memory_words_missing"),
    "vectors": (_numbers_of_vectors, "vectors"),
    "table": (_rows("DROP TABLE skips"), "schema"),
    "pages": (_lose_chunks, "pages"),
    "file": (damage.break_file, "unreadable"),
    "nothing left": (lambda file: os.truncate(file, 0), "unreadable"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doctor")


@pytest.fixture(scope="module")
def command(folder: Path) -> Command:
    variables = {"CAIRN_WORKERS": "1", **PATIENT}
    return Command(home=folder / "home", folder=folder, variables=variables)


@pytest.fixture(scope="module")
def server(command: Command) -> Iterator[Server]:
    with serving(command, "--no-watch") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


class Patient:
    """A project and its doctor."""

    def __init__(self, client: httpx.Client, home: Path, tree: Path) -> None:
        self.client = client
        self.tree = write_tree(tree, SAMPLE)
        self.id = index_folder(client, tree)
        self.base = f"/api/v1/projects/{self.id}"
        self.file = home / f"{self.id}.db"

    def ask(self, what: str, **parameters: Any) -> httpx.Response:
        """Ask the doctor for something."""
        return self.client.post(f"{self.base}/doctor/{what}", params=parameters)

    def verify(self) -> dict[str, Any]:
        """Give what is found."""
        answer = self.ask("verify")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def search(self) -> httpx.Response:
        """Search it."""
        return self.client.get(
            "/api/v1/search", params={"query": "open a session", "project": self.id}
        )

    def follow(self, call: dict[str, Any]) -> dict[str, Any]:
        """Do what is suggested, and wait for the job that comes of it."""
        answer = self.client.request(call["method"], call["path"], json=call["body"])
        assert answer.status_code in (200, 202), answer.text
        told: dict[str, Any] = answer.json()
        if told.get("job_id"):
            self.await_end(told["job_id"])
        return told

    def await_end(self, job_id: str) -> None:
        """Wait until a job has completed, and nothing more is written."""
        ask_until(self.client, f"/api/v1/jobs/{job_id}", status="completed")
        await_log(self.client, job_id)


@pytest.fixture
def patient(client: httpx.Client, server: Server, tmp_path: Path) -> Patient:
    return Patient(client, server.home, tmp_path / "tree")


@pytest.fixture(scope="module")
def healthy(client: httpx.Client, server: Server, folder: Path) -> Patient:
    return Patient(client, server.home, folder / "healthy")


def test_a_sound_index(patient: Patient, command: Command) -> None:
    damage.checkpointed(patient.file)
    found = patient.verify()
    assert (found["status"], found["ok"], found["findings"]) == ("sound", True, [])
    assert (found["suggested_fixes"], found["suggested_calls"]) == ([], [])
    assert found["path"] == str(patient.tree)
    assert found["checked"]["files"] == len(SAMPLE)
    assert found["diagnostics"]["sqlite_path"] == str(patient.file)
    assert found["diagnostics"]["sqlite_size_bytes"] == patient.file.stat().st_size
    assert "VERIFY COMPLETE: sound" in Path(found["log"]).read_text("utf-8")
    printed = command("doctor", str(patient.tree), "--json").json()
    own = {"status", "suggested_calls", "diagnostics"}
    assert set(found) == set(printed) | own
    repair = patient.ask("repair").json()
    printed = command("doctor", str(patient.tree), "--repair", "--json").json()
    assert set(repair) == set(printed) | {"job_id"}
    assert (repair["ok"], repair["done"], repair["job_id"]) == (True, [], None)


@pytest.mark.parametrize("name", BROKEN)
def test_damage_is_told_and_what_is_suggested_heals_it(name: str, patient: Patient) -> None:
    break_it, code = BROKEN[name]
    notes = f"{patient.base}/memories"
    note = {"summary": "Tokens expire after an hour", "description": "", "tags": ["decision"]}
    saved = patient.client.post(notes, json=note).json()
    damage.checkpointed(patient.file)
    fresh = contents(patient.file)
    break_it(patient.file)
    told = patient.search()
    if told.status_code != 200:
        assert told.json()["error"] == "damaged_index"
        assert "doctor" in told.json()["details"]["hint"]
    found = patient.verify()
    assert (found["status"], found["ok"], found["path"]) == ("damaged", False, str(patient.tree))
    damaged = [each for each in found["findings"] if each["severity"] == "damage"]
    assert code in {each["code"] for each in damaged}
    assert found["suggested_fixes"] == [
        f"cairn doctor {patient.tree} --repair",
        f"cairn doctor {patient.tree} --rebuild",
    ]
    repair, rebuild = found["suggested_calls"]
    assert rebuild["path"] == f"{patient.base}/doctor/rebuild"
    healed = patient.follow(repair)
    assert healed["ok"], healed
    assert healed["before"]["findings"] == found["findings"]
    assert (healed["aside"] is None) == (code not in ("schema", "pages", "unreadable"))
    after = patient.verify()
    assert (after["status"], after["findings"]) == ("sound", [])
    hits = patient.search().json()["hits"]
    assert hits[0]["path"] == "app/session.py"
    question = {"query": "when do tokens expire", "tags": "decision"}
    kept = patient.client.get(f"{notes}/search", params=question).json()["memories"]
    assert [each["id"] for each in kept] == ([] if code == "unreadable" else [saved["id"]])
    damage.checkpointed(patient.file)
    check_sound(patient.file)
    assert contents(patient.file) == fresh


@pytest.mark.parametrize("name", ["text", "pages", "file"])
def test_a_rebuilding_heals_as_well(name: str, patient: Patient) -> None:
    damage.checkpointed(patient.file)
    fresh = contents(patient.file)
    BROKEN[name][0](patient.file)
    answer = patient.ask("rebuild")
    assert answer.status_code == 202
    patient.await_end(answer.json()["job_id"])
    assert patient.verify()["findings"] == []
    damage.checkpointed(patient.file)
    assert contents(patient.file) == fresh


def test_after_a_restart_the_root_of_a_damaged_file_is_known(tmp_path: Path) -> None:
    variables = {"CAIRN_WORKERS": "1", **PATIENT}
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=variables)
    with serving(command, "--no-watch") as server, server.client() as client:
        patient = Patient(client, server.home, tmp_path / "tree")
    damage.break_file(patient.file)
    with serving(command, "--no-watch") as server, server.client() as client:
        patient.client = client
        assert patient.verify()["path"] == str(patient.tree)  # as its logs say
        shutil.rmtree(server.home / "logs" / patient.id)
        found = patient.verify()
        assert (found["status"], found["path"]) == ("damaged", "")
        assert found["suggested_fixes"][0] == "cairn doctor PATH --repair"
        shutil.rmtree(server.home / "logs" / patient.id)
        for what in ("repair", "rebuild"):
            told = patient.ask(what)
            assert (told.status_code, told.json()["details"]["field"]) == (400, "path")
            told = patient.ask(what, path=str(tmp_path))
            assert (told.status_code, told.json()["details"]["field"]) == (400, "path")
        told = patient.ask("repair", path=str(patient.tree))
        assert told.status_code == 200
        assert (told.json()["ok"], told.json()["path"]) == (True, str(patient.tree))
        patient.await_end(told.json()["job_id"])
        assert patient.search().json()["hits"]


def test_what_is_not_there_has_no_doctor(client: httpx.Client) -> None:
    for what in ("verify", "repair", "compact", "backup", "rebuild"):
        for project in ("0" * 64, "none", "%2e%2e"):
            answer = client.post(f"/api/v1/projects/{project}/doctor/{what}")
            assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_nobody_mends_what_is_being_indexed(patient: Patient) -> None:
    with indexing_lock(patient.file):
        assert patient.verify()["ok"]
        assert patient.ask("backup").status_code == 201
        for what in ("repair", "compact"):
            told = patient.ask(what)
            assert (told.status_code, told.json()["error"]) == (409, "conflict")
    assert patient.ask("repair").status_code == 200


def test_compaction_gives_space_back(patient: Patient) -> None:
    before = contents(patient.file)
    patient.client.post(f"{patient.base}/clear")
    patient.follow(
        {"method": "POST", "path": "/api/v1/projects", "body": {"path": str(patient.tree)}}
    )
    told = patient.ask("compact").json()
    assert 0 < told["bytes_after"] <= told["bytes_before"]
    assert contents(patient.file) == before


def test_a_backup_lies_in_its_folder_and_replaces_nothing(patient: Patient, server: Server) -> None:
    folder = server.home / "backups"
    told = patient.ask("backup").json()
    assert Path(told["file"]).parent == folder
    assert Path(told["file"]).name.startswith(patient.id)
    assert folder.stat().st_mode & 0o777 == 0o700
    name = f"{patient.id[:8]}.db"
    named = patient.ask("backup", name=name).json()
    assert named["file"] == str(folder / name)
    damage.checkpointed(patient.file)
    assert contents(Path(named["file"])) == contents(patient.file)
    again = patient.ask("backup", name=name)
    assert (again.status_code, again.json()["error"]) == (409, "conflict")
    (folder / f"{name[:-3]}-link.db").symlink_to(server.home / "taken.db")
    assert patient.ask("backup", name=f"{name[:-3]}-link.db").status_code == 409
    assert not (server.home / "taken.db").exists()
    assert len(patient.client.get("/api/v1/projects").json()["projects"]) == len(
        list(server.home.glob("*.db"))
    )


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../out.db",
        "/tmp/out.db",
        "a/b.db",
        "..\\out.db",
        ".hidden.db",
        "a.db\n",
        "a.db\0",
        "a\0.db",
        "a.db-wal",
        "%2e%2e%2fout.db",
        "x" * 300 + ".db",
        "file:a?mode=rw.db",
        "é.db",
        "-rf.db",
    ],
)
def test_a_backup_goes_nowhere_else(name: str, healthy: Patient, server: Server) -> None:
    before = _everything_in(server.home.parent)
    told = healthy.ask("backup", name=name)
    assert (told.status_code, told.json()["details"]["field"]) == (400, "name")
    assert _everything_in(server.home.parent) == before


def _everything_in(folder: Path) -> set[Path]:
    """Return all files but those that others write at any time: of jobs, SQLite's own, locks."""
    return {
        path
        for path in folder.rglob("*")
        if path.name[-4:] not in ("-wal", "-shm")
        and not {"logs", "locks"} & set(path.parts)
        and not path.name.startswith("rates.json")
    }


def test_a_damaged_index_is_not_copied(patient: Patient, server: Server) -> None:
    damage.checkpointed(patient.file)
    damage.zero_pages(patient.file, "chunks")
    told = patient.ask("backup", name=f"{patient.id[:8]}-damaged.db")
    assert (told.status_code, told.json()["error"]) == (500, "damaged_index")
    assert not [each for each in (server.home / "backups").iterdir() if "damaged" in each.name]


def test_a_locked_index_is_told_to_come_back(tmp_path: Path) -> None:
    variables = {"CAIRN_WORKERS": "1", "CAIRN_BUSY_TIMEOUT": "100"}
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=variables)
    with serving(command, "--no-watch") as server, server.client() as client:
        patient = Patient(client, server.home, tmp_path / "tree")
        BROKEN["words"][0](patient.file)
        with damage.writer(patient.file) as handle:
            handle.execute("BEGIN IMMEDIATE")
            told = patient.ask("repair")
            handle.execute("ROLLBACK")
        assert (told.status_code, told.json()["error"]) == (503, "unavailable")
        assert told.headers["Retry-After"] == "1"
        assert patient.ask("repair").json()["ok"]


def test_doctors_that_wait_hold_up_nobody_else(tmp_path: Path) -> None:
    variables = {"CAIRN_WORKERS": "1", "CAIRN_BUSY_TIMEOUT": str(int(patience(30_000)))}
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=variables)
    with serving(command, "--no-watch") as server, server.client() as client:
        patients = [Patient(client, server.home, tmp_path / f"tree{n}") for n in range(2)]
        for patient in patients:
            BROKEN["words"][0](patient.file)
        locked = threading.Barrier(3)
        free = threading.Event()
        with ThreadPoolExecutor(32) as threads:
            holders = [threads.submit(_hold, each.file, locked, free) for each in patients]
            locked.wait(patience(20))
            repairs = [threads.submit(each.ask, "repair") for each in patients]
            until(lambda: all(is_being_indexed(each.file) for each in patients))
            waiting: list[Future[httpx.Response]] = []
            until(lambda: _is_full(waiting, partial(threads.submit, patients[0].ask, "verify")))
            for path in ("/health", "/api/v1/projects", f"{patients[0].base}/memories"):
                assert client.get(path).status_code == 200
            assert patients[0].search().status_code == 200
            assert not any(each.done() for each in repairs)
            free.set()
            assert all(each.result().json()["ok"] for each in repairs)
            assert {each.result().status_code for each in waiting} == {200, 503}
            [holder.result() for holder in holders]


def _hold(file: Path, locked: threading.Barrier, free: threading.Event) -> None:
    """Hold the right to write a database until others have looked."""
    with damage.writer(file) as handle:
        handle.execute("BEGIN IMMEDIATE")
        locked.wait(patience(20))
        free.wait(patience(60))
        handle.execute("ROLLBACK")


def _is_full(
    waiting: list[Future[httpx.Response]], ask: Callable[[], Future[httpx.Response]]
) -> bool:
    """Ask once more, and say whether somebody was sent away."""
    waiting.append(ask())
    time.sleep(0.05)
    return any(each.done() and each.result().status_code == 503 for each in waiting)


def test_nobody_waits_for_a_client_that_has_gone(tmp_path: Path) -> None:
    variables = {"CAIRN_WORKERS": "1", **PATIENT}
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=variables)
    with serving(command, "--no-watch") as server, server.client() as client:
        patient = Patient(client, server.home, tmp_path / "tree")
        with ThreadPoolExecutor(8) as threads:
            gone = list(threads.map(partial(_leave, server), [patient.base] * 40))
        assert set(gone) == {None}
        until(lambda: patient.ask("verify").status_code == 200)
        assert server.stop() == 0


def _leave(server: Server, base: str) -> None:
    with server.client() as client:
        try:
            client.post(f"{base}/doctor/verify", timeout=0.002)
        except httpx.TimeoutException:
            return
