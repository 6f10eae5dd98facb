"""Status: what a server knows of itself, where settings come from, and that no secret is told."""

from pathlib import Path

import httpx

from engine.clock import now_ms
from engine.locks import runner_lock_file, take_lock
from engine.telemetry.logs import JobLog, server_log
from tests.support import damage
from tests.support.command import Command
from tests.support.damage import break_file
from tests.support.embedders import Fakes
from tests.support.jobs import catalog_in, until
from tests.support.pages import OWN_FORM, Page, site
from tests.support.patience import ANSWER_S
from tests.support.server import serving
from tests.support.trees import SAMPLE, write_tree


def test_a_server_shows_how_it_is(pages_client: httpx.Client, pages_home: Path) -> None:
    page = Page.of(pages_client.get("/status"))
    assert page.all("a", href="/status")[0]["aria-current"] == "page"
    for wanted in (
        "CodeCairn",
        "SQLite",
        "sqlite-vec",
        "Schema",
        str(pages_home / "data"),
        "static",
        "built in",
        "free of",
        "this machine only, without a token",
        "started with --no-watch",
    ):
        assert wanted in page.text, wanted
    health = pages_client.get("/health").json()
    assert health["version"] in page.text
    part = Page.of(pages_client.get("/status", headers={"HX-Request": "true"}))
    assert part.elements[0][1]["id"] == "status"
    assert not part.all("table")


def test_settings_say_where_they_come_from(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/config.toml").write_text("job_retention = 14\n")
    with site(tmp_path, CAIRN_SEARCH_TIMEOUT="1500") as server, server.client() as client:
        page = Page.of(client.get("/status"))
        assert "There are no projects yet" in page.text
        assert "healthy" in page.text
    for wanted in (
        "job_retention 14 days config.toml",
        "search_timeout 1.5 s 1,500 ms environment",
        "busy_timeout 5 s 5,000 ms default",
        "watch_debounce 500 ms default",
        "max_file_size 1 MiB 1,048,576 bytes default",
        "worker_memory 1 GiB 1,073,741,824 bytes default",
        "embedder_patience 1 d 86,400 s default",
        "default: 2 s",
        "port 0 option",
        "data_dir " + str(tmp_path / "data") + " environment",
    ):
        assert wanted in page.text, wanted


def test_a_model_that_cannot_be_is_not_well(tmp_path: Path) -> None:
    model = "openai:x@ftp://host.example"
    with site(tmp_path, CAIRN_MODEL=model) as server, server.client() as client:
        page = Page.of(client.get("/status"))
    assert "The model cannot be used" in page.text
    assert "healthy" not in page.text


def test_no_secret_and_no_markup_of_a_setting_is_shown(tmp_path: Path) -> None:
    secrets = {"CAIRN_TOKEN": "a-token-of-some-length", "CAIRN_EMBEDDING_KEY": "k3y-of-somebody"}
    model = "openai:<img src=x onerror=alert(1)>@https://me:s3cret@host.example/v1?key=s3cret"
    with site(tmp_path, CAIRN_MODEL=model, **secrets) as server:
        with httpx.Client(
            base_url=server.url, headers={"Accept": "text/html"}, timeout=ANSWER_S
        ) as stranger:
            assert stranger.get("/status").status_code == 401
        with server.client() as client:
            answer = client.get("/status")
    page = Page.of(answer)
    assert not any(secret in answer.text for secret in (*secrets.values(), "s3cret"))
    assert "with a token" in page.text
    assert "openai:<img src=x onerror=alert(1)>@https://host.example/v1" in page.text


def test_what_goes_wrong_is_shown_with_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with catalog_in(home, opens=Fakes()) as catalog:
        for name in ("app", "broken"):
            catalog.create(str(write_tree(tmp_path / name, SAMPLE))).index()
        ledger = catalog.open(str(tmp_path / "app")).for_jobs().ledger
        history = ledger.claim(ledger.enqueue({}, kind="history").row, "runner")
        assert history
        ledger.fail(history, {"error": "unavailable", "message": "no git", "details": {}}, {})
        row = ledger.claim(ledger.enqueue({}).row, "runner")
        assert row
        error = {"error": "internal_error", "message": "<b>boom</b>", "details": {"hint": "wait"}}
        ledger.fail(row, error, {})
        broken = catalog.open(str(tmp_path / "broken")).project_id
    break_file(home / f"{broken}.db")
    with site(tmp_path) as server, server.client() as client:
        page = Page.of(client.get("/status"))
        shown = Page.of(client.get(f"/jobs/{row.uuid}"))
    assert "healthy" not in page.text
    assert "An index is damaged" in page.text
    assert {"/#projects", f"/jobs/{row.uuid}"} <= set(page.links)
    assert "Indexing of app failed" in page.text
    assert "Reading the history of app failed No git" in page.text
    assert "<b>boom</b>" in page.text
    assert page.all("form", action=f"/jobs/{row.uuid}/retry", method="post")
    assert "<b>boom</b> Wait" in shown.text


def test_who_opens_a_damaged_project_is_told_and_no_request_has_failed(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with catalog_in(home, opens=Fakes()) as catalog:
        index = catalog.create(str(write_tree(tmp_path / "broken", SAMPLE)))
        index.index()
        broken = index.project_id
    break_file(home / f"{broken}.db")

    def visit() -> None:
        for address in (f"/p/{broken}", f"/p/{broken}/f/a.py", f"/api/v1/projects/{broken}"):
            answer = client.get(address, headers={"Accept": "text/html"})
            assert (answer.status_code, "damaged" in answer.text) == (500, True)

    def status() -> str:
        return Page.of(client.get("/status")).text

    with site(tmp_path) as server, server.client() as client:
        visit()
        told = status()
        assert "An index is damaged" in told
        assert "No recent problems" in told
        assert "equests failed" not in told
        gone = client.post(f"/damaged/{broken}/forget", headers=OWN_FORM)
        assert gone.status_code == 303
        assert "healthy" in status()
    log = server_log(home)
    assert {each["status"] for each in log.recent("error", 10)} == {500}  # in the log they are
    log.event(
        "request", level="error", method="GET", route="/p/{}", status=500, project_id="0" * 64
    )
    with site(tmp_path) as server, server.client() as client:
        assert "Requests failed within the last hour" in status()


def test_a_project_whose_check_found_damage_is_wrong_until_it_is_repaired(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", SAMPLE)
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        index = catalog.create(str(tree))
        index.index()
        file, doctor = tmp_path / f"data/{index.project_id}.db", f"/p/{index.project_id}/doctor"
    damage.run(file, "DELETE FROM chunk_terms WHERE rowid < 3")
    with site(tmp_path) as server, server.client() as client:
        assert "healthy" in Page.of(client.get("/status")).text  # nobody has looked
        client.post(f"/api/v1{doctor.replace('/p/', '/projects/')}/verify")
        for address in ("/status", "/"):
            page = Page.of(client.get(address))
            assert doctor in page.links
            assert page.all("span", class_="dot bad")
            assert not page.all("span", class_="dot good")
            assert "is damaged" in page.text
        client.post(f"/api/v1{doctor.replace('/p/', '/projects/')}/repair")
        until(lambda: "healthy" in Page.of(client.get("/status")).text)
        assert doctor not in Page.of(client.get("/")).links


def test_a_job_that_failed_is_wrong_until_another_is_completed(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", SAMPLE)
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        ledger = catalog.create(str(tree)).for_jobs().ledger
        row = ledger.claim(ledger.enqueue({}).row, "runner")
        assert row
        ledger.fail(row, {"error": "unavailable", "message": "the disk is full", "details": {}}, {})
        for _ in range(3):  # which say nothing of how the project is
            ledger.request_cancel(ledger.enqueue({}).row.uuid, is_orphan=True)
    with site(tmp_path) as server, server.client() as client:
        page = Page.of(client.get("/status"))
        assert "healthy" not in page.text
        assert "Indexing of app failed the disk is full" in page.text
        assert f"/jobs/{row.uuid}" in page.links
        assert len(page.all("form", action=f"/jobs/{row.uuid}/retry")) == 1
        client.post(f"/jobs/{row.uuid}/retry", headers=OWN_FORM)
        until(lambda: "healthy" in Page.of(client.get("/status")).text)
        later = Page.of(client.get("/status")).text
    assert "What is wrong" not in later


def test_jobs_that_nobody_runs_are_told_with_the_reason(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", SAMPLE)
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        catalog.create(str(tree)).for_jobs().ledger.enqueue({})
    (tmp_path / "data/locks/runner.lock").mkdir(parents=True)  # which no runner can take
    with site(tmp_path) as server, server.client() as client:
        until(lambda: "No job runner is active" in Page.of(client.get("/status")).text)
        page = Page.of(client.get("/status"))
    assert "healthy" not in page.text
    assert "No job runner is active, 1 job waiting" in page.text
    assert "is a folder, where a lock file belongs" in page.text
    assert "/jobs" in page.links


def test_failures_of_the_server_are_told_for_an_hour(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    past = now_ms() - 2 * 3_600_000
    old = JobLog(data / "logs", lambda: past, name="server.log")
    old.event("request", level="error", method="GET", route="/old", status=500)
    with site(tmp_path) as server, server.client() as client:
        before = Page.of(client.get("/status"))
        log = server_log(data)
        for route in ("/search", "/search", "/p/{project_id}"):
            log.event("request", level="error", method="GET", route=route, status=500)
        page = Page.of(client.get("/status"))
    assert "healthy" in before.text
    assert "GET /old was answered with 500" in before.text
    assert "healthy" not in page.text
    assert "Requests failed within the last hour" in page.text
    assert "#problems-title" in page.links
    assert "A request failed 2 times" in page.text


def test_each_job_is_shown_with_its_own_heartbeat(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lock = take_lock(runner_lock_file(data))
    assert lock
    with catalog_in(data, opens=Fakes()) as catalog, lock:
        for name, minutes in (("app", 4), ("lib", 9)):
            job = catalog.create(str(write_tree(tmp_path / name, SAMPLE))).for_jobs()
            assert job.ledger.claim(job.ledger.enqueue({}).row, "runner")
            beat = now_ms() - minutes * 60_000 - 5000
            damage.run(job.ledger.store.path, f"UPDATE jobs SET heartbeat_at_ms = {beat}")
        with site(tmp_path) as server, server.client() as client:
            page = Page.of(client.get("/status"))
    assert "app Last update: 4 min ago" in page.text
    assert "lib Last update: 9 min ago" in page.text
    assert "Heartbeat" not in page.text
    assert "Indexing of lib is stuck no update for" in page.text


def test_watchers_are_shown_with_how_they_hear_of_changes(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", SAMPLE)
    command = Command(home=tmp_path / "data", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})
    with serving(command, str(tree)) as server, server.client() as client:

        def shown() -> str:
            return Page.of(client.get("/status")).text

        until(lambda: "watching by file events" in shown())
        assert "no changes yet" in shown()
        assert "not watched" not in shown()
        until(lambda: "idle, process" in shown())
