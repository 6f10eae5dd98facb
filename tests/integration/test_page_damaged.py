"""Pages of a project whose database is damaged while the server has it open."""

import random
from pathlib import Path

from tests.support import damage
from tests.support.pages import OWN_FORM, Page, index_folder, project_ids, site
from tests.support.trees import SAMPLE, write_tree

_PAGE_BYTES = 4096


def test_each_page_says_what_is_damaged_and_offers_the_repair(tmp_path: Path) -> None:
    files = {f"m{n}.py": f"def part_{n}(value):\n    return value + {n}\n" * 40 for n in range(60)}
    tree = write_tree(tmp_path / "sample", {**SAMPLE, **files})
    with site(tmp_path, tree) as server, server.client() as client:
        project_id = project_ids(client)["sample"]
        (job,) = client.get("/api/v1/jobs").json()["jobs"]
        here = f"/p/{project_id}"
        addresses = [
            here,
            *(f"{here}/{name}" for name in ("f/m1.py", "symbols", "map", "memories", "tree")),
            "/search?q=%2Fdef+part%2F",
            f"/jobs/{job['job_id']}",
        ]
        assert [client.get(each).status_code for each in addresses] == [200] * len(addresses)
        database = tmp_path / f"data/{project_id}.db"
        with open(database, "r+b") as file:
            file.seek(2 * _PAGE_BYTES)
            file.write(random.Random(1).randbytes(database.stat().st_size - 2 * _PAGE_BYTES))
        failed = 0
        for each in addresses:
            answer = client.get(each, headers={"Accept": "text/html"})
            page = Page.of(answer)
            if answer.status_code == 200:  # from what the server keeps
                continue
            failed += 1
            assert answer.status_code == 500
            assert "damaged" in page.text
            assert "Internal Server Error" not in page.text
            assert "POST /api" not in page.text
            links = [link["href"] for link in page.all("a") if "href" in link]
            is_doctor = f"{here}/doctor/repair" in [form.get("action") for form in page.all("form")]
            assert is_doctor or f"{here}/doctor" in links, (each, page.text)
        assert failed > len(addresses) // 2
        assert f"{tree}: the index is damaged" in Page.of(client.get("/jobs")).text


def test_an_index_of_a_newer_version_is_said_to_be_one_and_can_be_removed(tmp_path: Path) -> None:
    trees = [write_tree(tmp_path / name, SAMPLE) for name in ("later", "sound")]
    with site(tmp_path, *trees) as server, server.client() as client:
        project_id = project_ids(client)["later"]
    file = tmp_path / f"data/{project_id}.db"
    damage.run(file, "PRAGMA user_version = 999")
    here, before = f"/p/{project_id}", file.read_bytes()
    with site(tmp_path) as server, server.client() as client:
        asked = {"q": "session", "project": project_id}
        for address in ("/", here, f"{here}/doctor", f"{here}/f/app/session.py", f"{here}/map"):
            page = Page.of(client.get(address, headers={"Accept": "text/html"}))
            assert "made by a newer version of CodeCairn (schema version 999" in page.text
            assert "Update CodeCairn" in page.text
            assert "damaged" not in page.text
            assert "later" in page.text
            assert not [form for form in page.all("form") if "mend" in form.get("action", "")]
            forms = page.all("form", action=f"/damaged/{project_id}/forget")
            assert f"{here}/doctor" in page.links or forms
            assert not forms or "Delete its index and its memories" in page.text
        for address in ("/search", "/research"):
            page = Page.of(client.get(address, params=asked))
            assert page.all("a", href=f"{here}/doctor")
            assert ("later" in page.text, project_id[:12] in page.text) == (True, False)
            assert "cairn " not in page.text.split("Keys and query syntax")[0]
        found = Page.of(client.get("/search?q=session")).text
        assert "later could not be searched: the index was made by a newer version" in found
        for query, code in (
            ("session project:later", 500),
            (f"session project:{project_id[:8]}", 500),
            ("session -project:later", 200),
            ("session project:absent", 404),
        ):
            answer = client.get("/search", params={"q": query})
            page = Page.of(answer)
            assert answer.status_code == code
            assert ("made by a newer version" in page.text) == (code == 500)
            assert bool(page.all("a", href=f"{here}/doctor")) == (code == 500)
            assert ("No project matches" in page.text) == (code == 404)
            assert project_id not in page.text
        both = Page.of(client.get("/search?q=session+project:later+project:sound")).text
        assert "later could not be searched: the index was made by a newer version" in both
        status = Page.of(client.get("/status")).text
        assert "An index was made by a newer version of CodeCairn" in status
        assert "damaged" not in status
        form = {"path": str(tmp_path)}  # of another project
        client.post(f"{here}/doctor/repair", data=form, headers=OWN_FORM)
        refused = client.post(f"{here}/doctor/repair", data=form, headers=OWN_FORM)
        page = Page.of(refused)
        assert "is not the root of this project" in page.text
        assert "made by a newer version of CodeCairn (schema version 999" in page.text
        assert not page.all("form", action=f"{here}/doctor/repair")
        assert file.read_bytes() == before
        gone = client.post(f"/damaged/{project_id}/forget", headers=OWN_FORM)
        assert "later was removed" in Page.of(client.get(gone.headers["location"])).text
        assert not file.exists()


def test_who_indexes_a_removed_project_again_reads_nothing_of_its_last_check(
    tmp_path: Path,
) -> None:
    tree = write_tree(tmp_path / "later", SAMPLE)
    with site(tmp_path, tree) as server, server.client() as client:
        project_id = project_ids(client)["later"]
    damage.run(tmp_path / f"data/{project_id}.db", "PRAGMA user_version = 999")
    here = f"/p/{project_id}"
    with site(tmp_path) as server, server.client() as client:
        assert client.post(f"{here}/doctor/verify", headers=OWN_FORM).status_code == 500
        gone = client.post(f"/damaged/{project_id}/forget", headers=OWN_FORM)
        assert gone.status_code == 303
        assert index_folder(client, tree) == project_id
        page = Page.of(client.get(f"{here}/doctor"))
    assert "Not checked recently." in page.text
    assert "Checking the index failed" not in page.text
