"""Home: projects with their figures, a folder to index, and what all pages share."""

import hashlib
import re
from pathlib import Path

import httpx
import pytest

from tests.support.command import Command
from tests.support.damage import break_file
from tests.support.embedders import Fakes
from tests.support.jobs import catalog_in, until
from tests.support.pages import OWN_FORM, Page, index_folder, project_ids, site
from tests.support.patience import ANSWER_S
from tests.support.server import serving
from tests.support.trees import write_tree
from web.pages.rendering import assets, folder_of


def test_a_project_is_shown_with_its_figures(pages_client: httpx.Client, pages_home: Path) -> None:
    page = Page.of(pages_client.get("/"))
    [card] = page.all("li", class_="card")
    assert card["data-project"] == project_ids(pages_client)["sample"]
    for wanted in ("sample", str(pages_home / "sample"), "files 36", "coverage 100%", "python"):
        assert wanted in page.text
    widths = [float(rect["width"]) for rect in page.all("rect")]
    assert sum(widths) == pytest.approx(100, abs=0.01)
    assert page.all("input", type="search")[0]["name"] == "q"


def test_htmx_gets_the_projects_alone(pages_client: httpx.Client) -> None:
    part = Page.of(pages_client.get("/", headers={"HX-Request": "true"}))
    assert part.elements[0][1]["id"] == "projects"
    assert not part.all("html")


def test_a_folder_is_indexed_by_a_form(pages_client: httpx.Client, pages_home: Path) -> None:
    tree = write_tree(pages_home / "other", {"a.py": "def freshly_indexed():\n    return 1\n"})
    answer = pages_client.post("/", data={"path": "~/other"}, headers=OWN_FORM)
    assert answer.status_code == 303
    place = answer.headers["location"]
    assert re.fullmatch(r"/jobs/[0-9a-f-]{36}", place)
    until(lambda: "completed" in Page.of(pages_client.get(place)).text)
    assert str(tree) in Page.of(pages_client.get("/")).text
    pages_client.delete(f"/api/v1/projects/{project_ids(pages_client)['other']}")


def _index(client: httpx.Client, path: str) -> None:
    """Send the form with a path, and wait for the job."""
    place = client.post("/", data={"path": path}, headers=OWN_FORM).headers["location"]
    until(lambda: "completed" in Page.of(client.get(place)).text)


def test_a_folder_whose_name_ends_in_a_blank_is_indexed_and_removed(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    for name in ("blank", "blank "):
        write_tree(pages_home / name, {"a.py": "x = 1\n"})
    picked = Page.of(pages_client.get("/folders", params={"path": f"{pages_home}/blank "}))
    [sent] = picked.all("input", type="hidden", name="path")
    for path, name in ((sent["value"], "blank "), (" ~/blank\t", "blank")):
        _index(pages_client, path)
        found = project_ids(pages_client)
        assert {each for each in found if each.strip() == "blank"} == {name}
        form = {"name": "blank"}  # as it looks
        here = f"/p/{found[name]}"
        removed = pages_client.post(f"{here}/forget", data=form, headers=OWN_FORM)
        assert removed.status_code == 303
    unknown = pages_client.post("/", data={"path": "~\0"}, headers=OWN_FORM)
    assert unknown.status_code == 400


@pytest.mark.parametrize("path", ["", "relative/one", "/nowhere/at/all", "/etc/passwd", "/" * 5000])
def test_a_bad_path_is_explained_beside_what_was_typed(
    pages_client: httpx.Client, path: str
) -> None:
    answer = pages_client.post("/", data={"path": path}, headers=OWN_FORM)
    assert answer.status_code == 400
    page = Page.of(answer)
    [typed] = page.all("input", id="path")
    assert (typed["value"], typed["aria-invalid"]) == (path, "true")
    assert page.all("p", id="path-error", role="alert")


def test_folders_can_be_picked_below_the_home_folder(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    page = Page.of(pages_client.get("/folders"))
    assert "sample" in page.text
    assert "hidden" not in page.text
    inner = Page.of(pages_client.get("/folders", params={"path": str(pages_home / "sample")}))
    assert inner.all("input", type="hidden", name="path")[0]["value"] == f"{pages_home}/sample"
    for bad in ("/etc", str(pages_home / ".hidden"), str(pages_home.parent)):
        browser = {"Accept": "text/html"}
        answer = pages_client.get("/folders", params={"path": bad}, headers=browser)
        assert answer.status_code == 400
        assert "Only folders in the home directory" in Page.of(answer).text


def test_many_projects_are_narrowed_and_sorted_and_damage_is_mended(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with catalog_in(home, opens=Fakes()) as catalog:
        for number, name in enumerate(("delta", "Beta", "alpha", "gone", "lost", "mended")):
            files = {f"f{each}.py": "x = 1\n" for each in range(number + 1)}
            catalog.jobs.run_here()
            job_id = catalog.jobs.submit(str(write_tree(tmp_path / name, files))).job_id
            catalog.jobs.follow(job_id)
        ids = {Path(each.path).name: each.project_id for each in catalog.projects()}
    (tmp_path / "gone").rename(tmp_path / "elsewhere")
    for name in ("lost", "mended"):
        break_file(home / f"{ids[name]}.db")
    with site(tmp_path) as server, server.client() as client:
        assert _names(client, "/") == ["alpha", "Beta", "delta", "gone", "lost", "mended"]
        assert _names(client, "/?sort=size")[:4] == ["gone", "alpha", "Beta", "delta"]
        assert _names(client, "/?sort=recent")[:4] == ["gone", "alpha", "Beta", "delta"]
        assert _names(client, "/?name=LPHA") == ["alpha"]
        assert _names(client, "/?name=alp+PHA") == ["alpha"]
        assert _names(client, "/?name=nothing") == []
        page = Page.of(client.get("/"))
        for wanted in ("The folder no longer exists", "damaged", "is not a database", "Filter"):
            assert wanted in page.text or page.all("input", placeholder=wanted)
        found = Page.of(client.get("/search?q=project:gone+x+path:f0.py"))
        assert "The folder of gone no longer exists" in found.text
        assert "changed since indexing" not in found.text
        read = Page.of(client.get(f"/p/{ids['gone']}/f/f0.py"))
        assert "The folder of the project no longer exists" in read.text
        assert "Index this file again" not in read.text
        part = Page.of(client.get("/?name=lpha&sort=size", headers={"HX-Request": "true"}))
        assert part.elements[0][1]["hx-get"] == "/?name=lpha&sort=size"
        assert part.all("nav", id="context-links", hx_swap_oob="outerMorph")

        failed = client.get(f"/p/{ids['lost']}/f/f0.py", headers={"Accept": "text/html"})
        assert failed.status_code == 500
        told = Page.of(failed)
        assert {f"/p/{ids['lost']}/f/f0.py", "/", "/status"} <= set(told.links)
        assert "is damaged" in told.text

        sound = client.post(f"/damaged/{ids['alpha']}/forget", headers=OWN_FORM)
        assert (sound.status_code, "This index is readable" in Page.of(sound).text) == (409, True)
        assert client.post(f"/damaged/{ids['lost']}/forget").status_code == 403
        forgotten = client.post(f"/damaged/{ids['lost']}/forget", headers=OWN_FORM)
        place = forgotten.headers["location"]
        assert (forgotten.status_code, place) == (303, f"/?forgotten={ids['lost']}")
        assert "lost was removed" in Page.of(client.get(place)).text
        mended = client.post(f"/damaged/{ids['mended']}/mend", headers=OWN_FORM)
        place = mended.headers["location"]
        assert place.startswith("/jobs/")
        until(lambda: "completed" in Page.of(client.get(place)).text)
        until(lambda: "files 6" in Page.of(client.get("/?name=mended")).text)
        assert _names(client, "/") == ["alpha", "Beta", "delta", "gone", "mended"]
        again = client.post(f"/damaged/{ids['lost']}/mend", headers=OWN_FORM)
        assert again.status_code == 404


def _names(client: httpx.Client, address: str) -> list[str]:
    """Give the names on the cards of a page, in their order."""
    page = Page.of(client.get(address))
    text = page.text
    names = [each["title"].rpartition("/")[2] for each in page.all("p", class_="path one-line")]
    assert all(name in text for name in names)
    return names


def test_the_theme_is_kept_in_a_cookie(pages_client: httpx.Client) -> None:
    assert "data-theme" not in Page.of(pages_client.get("/")).all("html")[0]
    asked = {"theme": "dark", "back": "/jobs?status=failed"}
    answer = pages_client.post("/theme", data=asked, headers=OWN_FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?status=failed")
    page = Page.of(pages_client.get("/"))
    assert page.all("html")[0]["data-theme"] == "dark"
    assert page.all("button", name="theme")[0]["value"] == "light"
    beside = {"Cookie": 'prefs={"theme":"light"}; flag; cairn_theme=dark'}  # of another server
    assert Page.of(pages_client.get("/", headers=beside)).all("html")[0]["data-theme"] == "dark"
    for back in ("//evil.example", "https://evil.example", "/\\evil", "javascript:x", "/a\nb"):
        answer = pages_client.post("/theme", data={"back": back}, headers=OWN_FORM)
        assert answer.headers["location"] == "/"
    twice = {**OWN_FORM, "Content-Type": "application/x-www-form-urlencoded"}
    answer = pages_client.post("/theme", content=b"theme=a&theme=b", headers=twice)
    assert answer.status_code == 400


def test_the_theme_switch_of_a_refused_form_leads_to_a_page(
    pages_client: httpx.Client, sample_id: str
) -> None:
    for path, form, back in (
        (f"/p/{sample_id}/forget", {"name": "other"}, "/"),
        ("/settings", {"name": "job_retention", "value": "x"}, "/settings"),
    ):
        refused = pages_client.post(path, data=form, headers=OWN_FORM)
        assert refused.status_code == 400
        [field] = Page.of(refused).all("input", name="back")
        assert field["value"] == back
        assert pages_client.get(back).status_code == 200


def test_errors_are_pages_for_browsers_and_json_for_all_else(pages_client: httpx.Client) -> None:
    browser = {"Accept": "text/html,*/*;q=0.8"}
    page = pages_client.get("/nowhere", headers=browser)
    assert page.status_code == 404
    assert "Not Found" in Page.of(page).text
    assert {"/", "/jobs", "/status", "/search?q=nowhere"} <= set(Page.of(page).links)
    for path, headers in (
        ("/nowhere", {}),
        ("/nowhere", {"Accept": "*/*"}),
        ("/api/v1/nowhere", browser),
    ):
        answer = pages_client.get(path, headers=headers)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    assert Page.of(pages_client.get("/", headers={**browser, "Host": "evil.example"})).text


def test_a_server_with_a_token_and_without_projects(tmp_path: Path) -> None:
    with site(tmp_path, CAIRN_TOKEN="a-token-of-some-length") as server:
        with httpx.Client(
            base_url=server.url, headers={"Accept": "text/html"}, timeout=ANSWER_S
        ) as stranger:
            answer = stranger.get("/")
            assert answer.status_code == 401
            page = Page.of(answer)
            assert "token" in page.text
            assert stranger.get(page.all("link", rel="stylesheet")[0]["href"]).status_code == 200
            asked = Page.of(stranger.get("/jobs?status=failed&q=a%26b+c"))
            assert asked.all("form", action="/jobs", method="get")
            kept = [(each["name"], each["value"]) for each in asked.all("input", type="hidden")]
            assert {("status", "failed"), ("q", "a&b c")} <= set(kept)
            assert asked.all("input", name="token", type="password")
            assert "enter its token" in asked.text
            assert "Authorization" not in asked.text
            assert "This is not the token" not in asked.text
            for path in ("/", "/jobs", "/?q=1&%74oken=x"):
                refused = stranger.get(f"{path}{'&' if '?' in path else '?'}token=an-other")
                assert refused.status_code == 401
                assert "This is not the token of this server" in Page.of(refused).text
                assert "an-other" not in refused.text
            posted = Page.of(stranger.post("/jobs/1/cancel", headers=OWN_FORM))
            assert posted.all("form", action="/", method="get")
            elsewhere = Page.of(stranger.get(f"{server.url}//evil.example/jobs"))
            assert elsewhere.all("form", action="/evil.example/jobs", method="get")
            opened = stranger.get("/jobs?status=failed&token=a-token-of-some-length")
            assert (opened.is_redirect, opened.headers["location"]) == (True, "/jobs?status=failed")
            assert stranger.get("/jobs").status_code == 200
        with server.client() as client:
            page = Page.of(client.get("/"))
            assert "Nothing is indexed yet" in page.text
            assert "cairn index" in page.text
            assert "cairn index" in Page.of(client.get("/search?q=anything")).text


def test_static_files_are_kept_by_their_contents(pages_client: httpx.Client) -> None:
    page = Page.of(pages_client.get("/"))
    places = [each["href"] for each in page.all("link")] + [
        each["src"] for each in page.all("script")
    ]
    assert len(places) >= 4
    for place in places:
        answer = pages_client.get(place)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        tag = answer.headers["etag"]
        again = pages_client.get(place, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        stale = pages_client.get(place.partition("?")[0] + "?v=older")
        assert (stale.status_code, stale.headers["cache-control"]) == (200, "no-cache")
    for bad in ("nothing.css", "%2e%2e%2fpyproject.toml", "..%2f..%2fpyproject.toml", "%00"):
        assert pages_client.get(f"/static/{bad}").status_code in (400, 404)


def test_what_was_taken_from_elsewhere_is_what_its_note_says() -> None:
    note = (folder_of("static") / "VENDORED.txt").read_text("utf-8")
    [(name, digest)] = re.findall(
        r"^(\S+\.js)\n(?:  .*\n)*?  sha256: (\w{64})$", note, re.MULTILINE
    )
    assert hashlib.sha256(assets()[name].body).hexdigest() == digest


def test_no_template_and_no_script_makes_what_the_policy_forbids() -> None:
    templates = sorted(folder_of("templates").rglob("*.html"))
    assert len(templates) > 10
    for file in templates:
        text = file.read_text("utf-8")
        assert not re.search(
            r"<style|\sstyle=|\son\w+=|<script(?! src=)|\|safe|javascript:", text
        ), file
    script = assets()["app.js"].body.decode()
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(|outerHTML", script)


def test_a_folder_indexed_from_the_page_is_searched_and_followed_too(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        write_tree(tmp_path / name, {f"{name}.py": f"def open_{name}_door():\n    return 1\n"})
    settings = {"CAIRN_WORKERS": "1", "HOME": str(tmp_path)}
    command = Command(home=tmp_path / "data", folder=tmp_path, variables=settings)
    with serving(command, str(tmp_path / "first")) as server, server.client() as client:

        def asked(path: str, **query: str) -> str:
            return Page.of(client.get(path, params=query)).text

        def index(name: str) -> None:
            form = {"path": str(tmp_path / name)}
            assert client.post("/", data=form, headers=OWN_FORM).status_code == 303

        until(lambda: asked("/").count("Up to date, watching") == 1)
        index_folder(client, tmp_path / "second")
        assert "Not watched: the server serves other folders" in asked("/")
        assert "second.py" not in asked("/search", q="open door")
        index("second")
        until(lambda: asked("/").count("Up to date, watching") == 2)
        assert "second.py" in asked("/search", q="open door")
        assert "Searched only in" not in asked("/search", q="open door")
        write_tree(tmp_path / "second", {"later.py": "def close_window():\n    return 1\n"})
        until(lambda: "later.py" in asked("/search", q="close window"))

        known = project_ids(client)["first"]
        form = {"name": "first"}
        client.post(f"/p/{known}/forget", data=form, headers=OWN_FORM)
        index("third")
        until(lambda: asked("/").count("Up to date, watching") == 2)  # whoever watches has looked
        assert sorted(project_ids(client)) == ["second", "third"]
        client.post("/api/v1/projects", json={"path": str(tmp_path / "first")})
        until(lambda: asked("/").count("Up to date, watching") == 3)  # it is what was asked for
