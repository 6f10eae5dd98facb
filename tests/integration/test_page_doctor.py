"""The doctor's page: an index checked, damaged, mended, compacted and given away by forms alone."""

import fcntl
import hashlib
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import apsw
import httpx
import pytest

from tests.support import damage
from tests.support.embedders import Fakes
from tests.support.jobs import catalog_in, until
from tests.support.pages import OWN_FORM, Page, indexed, project_ids, site
from tests.support.trees import write_tree


@pytest.fixture
def patient(pages_client: httpx.Client, pages_home: Path) -> Iterator[str]:
    """The id of a project that tests may damage."""
    files = {f"m{n}.py": f"def part_{n}(): pass\n" for n in range(9)}
    with indexed(pages_client, write_tree(pages_home / "patient", files)) as project_id:
        yield project_id


def _do(client: httpx.Client, project_id: str, action: str) -> Page:
    """Send a form, and give the page that it leads to once the doctor has ended."""
    answer = client.post(f"/p/{project_id}/{action}", headers=OWN_FORM)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/p/{project_id}/doctor#treatment",
    )

    def look() -> Page | None:
        page = Page.of(client.get(f"/p/{project_id}/doctor"))
        return page if not page.all("div", hx_trigger="every 1s") else None

    until(lambda: look() is not None)
    return Page.of(client.get(f"/p/{project_id}"))


def _until_filled(client: httpx.Client, project_id: str) -> None:
    """Wait until the one file is indexed again and the job has ended, which counts it before."""

    def is_filled() -> bool:
        status = client.get(f"/api/v1/projects/{project_id}").json()
        return bool(status.get("files") == 1 and not status["jobs"])

    until(is_filled)


def test_a_sound_index(pages_client: httpx.Client, patient: str) -> None:
    assert "Not checked recently" in Page.of(pages_client.get(f"/p/{patient}")).text
    checked = _do(pages_client, patient, "doctor/verify")
    assert "sound checked just now: 9 files, 9 symbols" in checked.text
    assert not checked.all("div", aria_label="What helps")
    part = Page.of(pages_client.get(f"/p/{patient}/doctor", headers={"HX-Request": "true"}))
    assert part.elements[0] == ("div", {"id": "treatment", "tabindex": "-1"})


def test_damage_is_found_and_mended_by_the_button_beside_it(
    pages_client: httpx.Client, pages_home: Path, patient: str
) -> None:
    damage.run(pages_home / f"data/{patient}.db", "DELETE FROM chunk_terms WHERE rowid < 3")
    found = _do(pages_client, patient, "doctor/verify")
    assert "damaged checked" in found.text
    assert "damage Found 2 chunks that cannot be found by their words" in found.text
    forms = {each.get("action") for each in found.all("form")}
    assert f"/p/{patient}/doctor/repair" in forms
    mended = _do(pages_client, patient, "doctor/repair")
    assert "repaired just now" in mended.text
    assert "sound checked just now" in mended.text
    assert f"/p/{patient}/doctor/repair" not in {each.get("action") for each in mended.all("form")}


def test_space_is_given_back(pages_client: httpx.Client, pages_home: Path, patient: str) -> None:
    file = pages_home / f"data/{patient}.db"
    filler = "CREATE TABLE filler AS SELECT randomblob(3000000)"
    damage.run(file, f"{filler}; DROP TABLE filler")
    done = _do(pages_client, patient, "doctor/compact")
    assert "compacted 3." in done.text
    assert file.stat().st_size < 1_000_000


def test_an_export_is_the_whole_index_in_one_file(
    pages_client: httpx.Client, pages_home: Path, patient: str, tmp_path: Path
) -> None:
    answer = pages_client.post(f"/p/{patient}/export", headers=OWN_FORM)
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith('attachment; filename="patient-')
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.headers["cache-control"] == "no-store"
    (tmp_path / "copy.db").write_bytes(answer.content)
    handle = apsw.Connection(str(tmp_path / "copy.db"))
    assert handle.execute("PRAGMA integrity_check").get == "ok"
    assert handle.execute("SELECT count(*) FROM files").get == 9
    handle.close()
    assert not list((pages_home / "data").glob("export-*"))


def test_a_fourth_export_is_refused_until_a_download_has_ended(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", {"a.py": "x = 1\n"})
    small = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)]  # so that the server has to wait
    with site(tmp_path, tree) as server, server.client() as client:
        project_id = project_ids(client)["app"]
        filler = "CREATE TABLE filler AS SELECT randomblob(9000000)"
        damage.run(tmp_path / f"data/{project_id}.db", filler)
        address = f"/p/{project_id}/export"
        with ExitStack() as downloads:
            for _ in range(3):
                slow = server.client(transport=httpx.HTTPTransport(socket_options=small))
                downloads.enter_context(slow)
                stream = slow.stream("POST", address, headers=OWN_FORM)
                assert downloads.enter_context(stream).status_code == 200
            refused = client.post(address, headers=OWN_FORM)
            assert refused.status_code == 409
            assert "3 exports are already running" in Page.of(refused).text
        until(lambda: client.post(address, headers=OWN_FORM).status_code == 200)


def test_a_copy_that_a_killed_server_has_left_goes(tmp_path: Path) -> None:
    left = tmp_path / "data" / "export-left"
    write_tree(left, {"index.db": "half of it"})
    with site(tmp_path):
        assert not left.exists()


def test_what_cannot_be_done_now_is_explained(
    pages_client: httpx.Client, pages_home: Path, patient: str
) -> None:
    with open(pages_home / f"data/locks/{patient}.lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = pages_client.post(f"/p/{patient}/doctor/compact", headers=OWN_FORM)
        assert answer.status_code == 409
        page = Page.of(answer)
    assert page.all("p", role="alert")
    assert "being indexed" in page.text
    assert page.all("h1")


def test_a_repair_that_has_to_wait_for_a_compaction_says_so(
    pages_client: httpx.Client, pages_home: Path, patient: str
) -> None:
    handle = apsw.Connection(str(pages_home / f"data/{patient}.db"))
    handle.set_busy_timeout(30_000)  # what indexed the project may still write
    handle.execute("BEGIN IMMEDIATE")  # so that the compaction waits
    try:
        begun = pages_client.post(f"/p/{patient}/doctor/compact", headers=OWN_FORM)
        assert begun.status_code == 303, begun.text
        refused = pages_client.post(f"/p/{patient}/doctor/repair", headers=OWN_FORM)
    finally:
        handle.close()
    page = Page.of(refused)
    assert refused.status_code == 409
    assert page.all("p", role="alert")
    assert "The index is being compacted" in page.text
    until(lambda: "compacted" in Page.of(pages_client.get(f"/p/{patient}/doctor")).text)


def test_an_index_that_cannot_be_opened_has_its_doctor(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "broken", {"a.py": "def one(): pass\n"})
    with indexed(pages_client, tree) as project_id:
        file = pages_home / f"data/{project_id}.db"
        file.write_bytes(b"this is no database" * 1000)
        for suffix in ("-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        for address in (f"/p/{project_id}", f"/p/{project_id}/doctor"):
            page = Page.of(pages_client.get(address, headers={"Accept": "text/html"}))
            assert "This index is damaged" in page.text
            assert page.all("p", role="alert")
        assert pages_client.get(f"/p/{project_id}").status_code == 500
        mended = pages_client.post(f"/p/{project_id}/doctor/repair", headers=OWN_FORM)
        assert mended.status_code == 303
        _until_filled(pages_client, project_id)


def test_an_index_begun_anew_says_that_it_is_being_filled(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", {"a.py": "def one(): pass\n"})
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        index = catalog.create(str(tree))
        index.index()
        project_id = index.project_id
    damage.break_file(tmp_path / f"data/{project_id}.db")
    (tmp_path / "data/locks/runner.lock").mkdir()  # which no runner can take: the job waits
    here = f"/p/{project_id}"
    with site(tmp_path) as server, server.client() as client:
        form = {"path": str(tree)}
        client.post(f"{here}/doctor/repair", data=form, headers=OWN_FORM)
        until(lambda: "repaired" in Page.of(client.get(f"{here}/doctor")).text)
        [job] = client.get("/api/v1/jobs", params={"status": "pending"}).json()["jobs"]
        for address in (here, f"{here}/doctor"):
            page = Page.of(client.get(address))
            assert "not complete yet: all files are being indexed. Show the job" in page.text
            assert f"/jobs/{job['job_id']}" in page.links
            assert page.all("div", id="treatment", hx_trigger="every 3s")
        assert "Every file is indexed." not in Page.of(client.get(here)).text
        damage.run(tmp_path / f"data/{project_id}.db", "DELETE FROM jobs")
        page = Page.of(client.get(f"{here}/doctor"))
        assert "The index is empty, and no job is filling it." in page.text
        assert page.all("form", action=f"{here}/index")
        (tmp_path / "data/locks/runner.lock").rmdir()
        client.post(f"{here}/index", headers=OWN_FORM)
        _until_filled(client, project_id)
        assert "being indexed" not in Page.of(client.get(f"{here}/doctor")).text
        assert "Every file is indexed." in Page.of(client.get(here)).text


def test_a_page_that_damage_keeps_back_leads_to_the_doctor(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "<img src=x>", {"a.py": "def one(): pass\n"})
    with indexed(pages_client, tree) as hurt:
        damage.zero_pages(pages_home / f"data/{hurt}.db", "symbols")
        here = f"/p/{hurt}/symbols"
        answer = pages_client.get(here, headers={"Accept": "text/html"})
        page = Page.of(answer)
        shape = pages_client.get(here, headers={"Accept": "application/json"}).json()
    assert (answer.status_code, shape["error"]) == (500, "damaged_index")
    assert "The index of <img src=x> is damaged" in page.text
    assert "memories and jobs are kept" in page.text
    assert "PATH" not in page.text
    [main] = page.all("a", class_="button primary")
    assert main["href"] == f"/p/{hurt}/doctor"
    assert here in page.links


def test_a_damaged_page_of_a_project_without_a_name_has_its_id(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    project_id = hashlib.sha256(b"/nowhere at all").hexdigest()
    file = pages_home / f"data/{project_id}.db"
    damage.break_file(file)
    try:
        page = Page.of(pages_client.get(f"/p/{project_id}/tree", headers={"Accept": "text/html"}))
    finally:
        file.unlink()
    assert f"The index of {project_id[:12]} is damaged" in page.text


def test_the_folder_is_asked_for_when_nothing_tells_it(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "lost", {"a.py": "def one(): pass\n"})
    project_id = hashlib.sha256(os.fsencode(tree)).hexdigest()
    (pages_home / f"data/{project_id}.db").write_bytes(b"this is no database" * 1000)
    here = f"/p/{project_id}"
    page = Page.of(pages_client.get(f"{here}/doctor"))
    assert page.all("input", name="path", required="")
    for path in ("", str(pages_home / "sample"), "/nowhere"):
        form = {"path": path}
        refused = pages_client.post(f"{here}/doctor/repair", data=form, headers=OWN_FORM)
        assert refused.status_code == 400
        assert Page.of(refused).all("p", role="alert")
    form = {"path": str(tree)}
    mended = pages_client.post(f"{here}/doctor/repair", data=form, headers=OWN_FORM)
    assert mended.status_code == 303
    _until_filled(pages_client, project_id)
    assert pages_client.delete(f"/api/v1/projects/{project_id}").status_code == 200


@pytest.mark.parametrize("action", ["doctor/verify", "doctor/rebuild", "export"])
def test_a_project_that_is_not_there(pages_client: httpx.Client, action: str) -> None:
    headers = {**OWN_FORM, "Accept": "text/html"}
    answer = pages_client.post(f"/p/{'0' * 64}/{action}", headers=headers)
    assert answer.status_code == 404


@pytest.mark.parametrize("action", ["doctor/verify", "doctor/compact", "doctor/repair", "export"])
def test_other_sites_cannot_ask_for_it(
    pages_client: httpx.Client, sample_id: str, action: str
) -> None:
    assert pages_client.post(f"/p/{sample_id}/{action}", data={"x": "1"}).status_code == 403


def test_nothing_to_stop_is_no_error(pages_client: httpx.Client, sample_id: str) -> None:
    answer = pages_client.post(f"/p/{sample_id}/doctor/stop", headers=OWN_FORM)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/p/{sample_id}/doctor#treatment",
    )


def test_a_check_by_another_process_is_told(
    pages_client: httpx.Client, pages_home: Path, patient: str
) -> None:
    assert "sound checked just now" in _do(pages_client, patient, "doctor/verify").text
    time.sleep(1.0)  # the log of a check has its time in seconds
    damage.run(pages_home / f"data/{patient}.db", "DELETE FROM chunk_terms WHERE rowid < 3")
    answer = pages_client.post(f"/api/v1/projects/{patient}/doctor/verify")
    assert answer.json()["status"] == "damaged"
    page = Page.of(pages_client.get(f"/p/{patient}/doctor"))
    assert "damaged last checked just now. Check again to see what was found." in page.text


def test_an_index_is_begun_anew_by_a_job(pages_client: httpx.Client, patient: str) -> None:
    answer = pages_client.post(f"/p/{patient}/doctor/rebuild", headers=OWN_FORM)
    assert answer.status_code == 303
    job = answer.headers["location"]
    until(lambda: "completed" in Page.of(pages_client.get(job)).text)
    assert "9 new or changed" in Page.of(pages_client.get(job)).text


@pytest.mark.parametrize("checked_by", ["page", "api"])
def test_nothing_is_left_of_damage_that_a_rebuild_has_removed(
    pages_client: httpx.Client, pages_home: Path, patient: str, checked_by: str
) -> None:
    here, is_by_page = f"/p/{patient}", checked_by == "page"
    damage.run(pages_home / f"data/{patient}.db", "DELETE FROM chunk_terms WHERE rowid < 3")
    checks = f"{here}/doctor/verify" if is_by_page else f"/api/v1/projects/{patient}/doctor/verify"
    pages_client.post(checks, headers=OWN_FORM if is_by_page else {})
    until(lambda: "damaged" in Page.of(pages_client.get(here)).text)
    pages_client.post(f"{here}/doctor/rebuild", headers=OWN_FORM)
    until(lambda: "Not checked recently." in Page.of(pages_client.get(here)).text)
    for address in (here, f"{here}/doctor"):
        page = Page.of(pages_client.get(address))
        assert "damaged" not in page.text
        assert f"{here}/doctor/repair" not in {each.get("action") for each in page.all("form")}


@pytest.mark.parametrize("face", ["api", "page"])
def test_a_copy_of_a_damaged_index_goes_when_the_project_is_forgotten(
    pages_client: httpx.Client, pages_home: Path, face: str
) -> None:
    tree = write_tree(pages_home / f"gone by {face}", {"a.py": "def one(): pass\n"})
    made = pages_client.post("/api/v1/projects", json={"path": str(tree)}).json()
    project_id = made["project_id"]
    damage.break_file(pages_home / f"data/{project_id}.db")
    pages_client.post(f"/p/{project_id}/doctor/repair", headers=OWN_FORM)
    _until_filled(pages_client, project_id)
    assert list((pages_home / "data").glob(f"{project_id}.damaged-*"))
    if face == "api":
        assert pages_client.delete(f"/api/v1/projects/{project_id}").status_code == 200
    else:
        form = {"name": tree.name}
        answer = pages_client.post(f"/p/{project_id}/forget", data=form, headers=OWN_FORM)
        assert answer.status_code == 303
    assert [path.name for path in (pages_home / "data").glob(f"{project_id}*")] == []
