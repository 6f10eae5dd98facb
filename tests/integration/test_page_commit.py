"""Commits on pages: among results, on a page of their own, and where files lead to them."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from engine.index_records import IndexOptions
from tests.support.command import Command
from tests.support.git_history import GitTree, index_with_history, sample_history
from tests.support.jobs import catalog_in
from tests.support.pages import Page, project_ids
from tests.support.server import Server, serving

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> GitTree:
    folder = tmp_path_factory.mktemp("commits")
    git = sample_history(folder / "tree", folder)
    git.commit(
        f"Escape {HOSTILE}\n\n{HOSTILE}\x1b[31m",
        {"odd <b>&.py": "x = 1\n"},
        '--author=A "&amp;" B <a@example.org>',
    )
    index_with_history(folder / "home", git)
    return git


@pytest.fixture(scope="module")
def server(git: GitTree) -> Iterator[Server]:
    command = Command(home=git.home / "home", folder=git.root)
    with serving(command, "--no-watch") as server:
        yield server


@pytest.fixture
def second_branch(git: GitTree) -> None:
    """A second branch is indexed."""
    git.git("branch", "-f", "feature", "HEAD~1")
    with catalog_in(git.home / "home") as catalog:
        catalog.open(str(git.root)).index(IndexOptions(branch="feature"))


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def project_id(client: httpx.Client) -> str:
    return project_ids(client)["tree"]


def search(client: httpx.Client, project_id: str, query: str) -> Page:
    return Page.of(client.get("/search", params={"q": query, "project": project_id}))


def test_commits_are_results_that_lead_to_their_pages(
    client: httpx.Client, project_id: str, git: GitTree
) -> None:
    page = search(client, project_id, "type:commit when did retries become exponential")
    name = git.listed()[4]
    address = f"/p/{project_id}/commit/{name[:12]}"
    assert page.links.index(address) < page.links.index(
        f"/p/{project_id}/commit/{git.listed()[3][:12]}"
    )
    assert "Make retries exponential" in page.text
    assert not [link for link in page.links if link.startswith("/research")]
    passage = "".join(page.texts).partition("Make retries exponential")[2]
    [author, *_] = [line for line in passage.splitlines() if "<" in line]
    assert author.endswith(">"), author
    assert not [link for link in page.links if "/f/commit" in link]
    assert not [link for link in page.links if "lang%3A" in link or "kind%3A" in link]


def test_commits_have_no_filter_of_branches(
    client: httpx.Client, project_id: str, second_branch: None
) -> None:
    assert "branch%3A" in "".join(search(client, project_id, "retry").links)
    assert "branch%3A" not in "".join(search(client, project_id, "type:commit retry").links)


def test_a_commit_has_a_page(client: httpx.Client, project_id: str, git: GitTree) -> None:
    page = Page.of(client.get(f"/p/{project_id}/commit/{git.listed()[3]}"))
    assert "Move retries into a package" in page.text
    assert "1 file changed" in page.text
    assert f"/p/{project_id}/f/src/net/retry.py" in page.links
    assert git.listed()[3] in page.text
    by_author = next(link for link in page.links if "author%3A" in link)
    assert "Drop the readme" in Page.of(client.get(by_author)).text
    history = next(link for link in page.links if "path%3A%2Fsrc%2Fnet%2Fretry.py" in link)
    assert "Move retries into a package" in Page.of(client.get(history)).text


def _changed_lines(page: Page) -> tuple[list[str], list[str]]:
    """Return the numbers of lines that came, and of those that went."""
    lines = [number["data-n"] for number in page.all("span", class_="n")]
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    return [new for old, new in pairs if not old], [old for old, new in pairs if not new]


def test_a_commit_shows_its_changed_lines(
    client: httpx.Client, project_id: str, git: GitTree
) -> None:
    exponential = Page.of(client.get(f"/p/{project_id}/commit/{git.listed()[-2]}"))
    assert _changed_lines(exponential) == (["6"], ["6"])
    assert "delay = base * 2 ** attempt" in exponential.text
    assert "+1 \N{MINUS SIGN}1" in exponential.text
    begin = Page.of(client.get(f"/p/{project_id}/commit/{git.listed()[-1]}"))
    came, went = _changed_lines(begin)
    assert came == ["1", *map(str, range(1, 13))]
    assert went == []
    moved = Page.of(client.get(f"/p/{project_id}/commit/{git.listed()[-3]}"))
    assert _changed_lines(moved) == ([], [])
    assert "no line was changed" in moved.text
    assert "src/retry.py → src/net/retry.py" in [each.strip() for each in moved.texts]
    dropped = Page.of(client.get(f"/p/{project_id}/commit/{git.listed()[-4]}"))
    assert _changed_lines(dropped) == ([], ["1"])


def test_a_commit_shows_no_secret(tmp_path: Path) -> None:
    git = GitTree(tmp_path / "tree", tmp_path)
    value = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    binary = tmp_path / "tree" / "image.bin"
    binary.write_bytes(b"\0\1\2")
    left_out = {"private/a.txt": "hidden\n" * 7, ".cairnignore": "private/\n"}
    git.commit("Add", {"app.py": f'TOKEN = "{value}"\n', ".env": "PASSWORD=hunter2\n", **left_out})
    git.commit("Use", {"app.py": f'TOKEN = "{value}"\nNAME = 1\n', ".env": "PASSWORD=hunter3\n"})
    index_with_history(tmp_path / "home", git)
    command = Command(home=tmp_path / "home", folder=git.root)
    with serving(command, "--no-watch") as server, server.client() as client:
        here = f"/p/{project_ids(client)['tree']}/commit"
        answers = [client.get(f"{here}/{name}") for name in git.listed()]
    for answer in answers:
        page = Page.of(answer)
        assert "TOKEN = " in page.text
        assert value not in answer.text
        assert "hunter" not in answer.text
        assert "not shown: a secret file" in page.text
    added = Page.of(answers[1]).text
    assert "not shown: binary" in added
    assert "+7 \N{MINUS SIGN}0" in added
    assert "private/a.txt not shown: left out by .cairnignore:1: private/" in added
    assert "hidden" not in added
    assert "NAME = 1" in Page.of(answers[0]).text


def test_figures_of_a_part_of_the_history_say_so(tmp_path: Path) -> None:
    git = sample_history(tmp_path / "tree", tmp_path)
    git.git("clone", "-q", "--depth", "2", f"file://{git.root}", str(tmp_path / "part"))
    part = GitTree(tmp_path / "part", tmp_path)
    index_with_history(tmp_path / "home", part)
    command = Command(home=tmp_path / "home", folder=part.root, reads_here=True)
    with serving(command, "--no-watch") as server, server.client() as client:
        project_id = project_ids(client)["part"]
        file = Page.of(client.get(f"/p/{project_id}/f/src/cache.py")).text
        project = Page.of(client.get(f"/p/{project_id}")).text
        found = search(client, project_id, "type:commit").text
    assert "(1 commit), of the newest 2 commits" in file
    assert "Commits newest 2" in project
    assert "2 results" in found
    assert "of the newest 2 commits" in command("why", "src/cache.py").out
    assert "history newest 2 commits since" in command("log").out
    assert "newest 2" in command("status").out


def test_all_commits_that_match_are_counted(tmp_path: Path) -> None:
    git = GitTree(tmp_path / "tree", tmp_path, "-b", "main")
    git.commit("Begin", {"a.py": "x = 1\n"})
    git.add_empty_commits(205)
    index_with_history(tmp_path / "home", git)
    command = Command(home=tmp_path / "home", folder=git.root, reads_here=True)
    with serving(command, "--no-watch") as server, server.client() as client:
        found = search(client, project_ids(client)["tree"], "type:commit").text
    assert "Showing 20 of 206 results" in found
    assert re.search(r"\n1 commit of 206, ", command("search", "type:commit", "--limit", "1").out)


def test_why_a_commit_lists_no_files(tmp_path: Path) -> None:
    git = GitTree(tmp_path / "tree", tmp_path, "-b", "main")
    git.commit("Begin", {"a.py": "x = 1\n"})
    empty = git.commit("Nothing at all")
    git.git("checkout", "-q", "-b", "side")
    git.commit("Add b", {"b.py": "y = 1\n"})
    git.git("checkout", "-q", "main")
    lost = git.commit("Add c", {"sub/c.py": "z = 1\n"})
    gone = git.git("rev-parse", "HEAD^{tree}")
    merge = git.merge("side", "Merge side")
    (git.root / ".git/objects" / gone[:2] / gone[2:]).unlink()
    index_with_history(tmp_path / "home", git)
    command = Command(home=tmp_path / "home", folder=git.root)
    with serving(command, "--no-watch") as server, server.client() as client:
        project_id = project_ids(client)["tree"]
        for name, why in (
            (merge, "A merge of 2 commits: what changed is told by the commits that it joins."),
            (empty, "It changed no file of this project."),
            (lost, "Its files cannot be read from the repository."),
        ):
            page = Page.of(client.get(f"/p/{project_id}/commit/{name}"))
            assert why in page.text
            assert "0 files" not in page.text


def test_a_deleted_file_is_no_link(client: httpx.Client, project_id: str, git: GitTree) -> None:
    page = Page.of(client.get(f"/p/{project_id}/commit/{git.listed()[2][:8]}"))
    assert "README.md" in page.text
    assert f"/p/{project_id}/f/README.md" not in page.links


def test_nothing_of_a_commit_is_markup(client: httpx.Client, project_id: str, git: GitTree) -> None:
    answer = client.get(f"/p/{project_id}/commit/{git.listed()[0]}")
    page = Page.of(answer)
    assert HOSTILE not in answer.text
    assert page.text.count(HOSTILE) >= 2
    assert 'A "&amp;" B' in page.text
    assert "\x1b" not in answer.text
    assert HOSTILE not in client.get("/search", params={"q": "type:commit escape"}).text


def test_an_unknown_commit_is_not_found(client: httpx.Client, project_id: str) -> None:
    answer = client.get(f"/p/{project_id}/commit/ffffffffff", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "No commit that can be found has the name ffffffffff" in Page.of(answer).text


def test_a_file_and_the_tabs_lead_to_commits(
    client: httpx.Client, project_id: str, git: GitTree, tmp_path: Path
) -> None:
    page = Page.of(client.get(f"/p/{project_id}/f/src/cache.py"))
    links = [link for link in page.links if link.startswith("/search?q=type%3Acommit")]
    links = [link for link in links if "lines%3A" not in link]
    found = [Page.of(client.get(link)).text for link in links]
    assert len(found) == 2
    assert sum("Make retries exponential" in text for text in found) == 1
    assert all("Add a cache of answers" in text for text in found)


def test_a_filter_that_is_about_code_is_told(client: httpx.Client, project_id: str) -> None:
    answer = client.get("/search", params={"q": "type:commit lang:go x", "project": project_id})
    assert "The filter lang: is about code, not about commits" in answer.text


@pytest.mark.parametrize("mode", ["symbol", "regex"])
def test_modes_for_code_are_not_offered_for_commits(
    client: httpx.Client, project_id: str, mode: str
) -> None:
    commits = search(client, project_id, "type:commit retries")
    assert commits.all("div", id="results")[0]["class"].split()[-1] == "about-commits"
    asked = {"q": "type:commit retries", "project": project_id, "mode": mode}
    answer = client.get("/search", params=asked)
    assert answer.status_code == 400
    page = Page.of(answer)
    assert f"The mode {mode} finds code, not commits. Hybrid, meaning and keyword" in page.text
    assert "character" not in page.text
    code = search(client, project_id, "retries")
    assert "about-commits" not in code.all("div", id="results")[0]["class"]


def test_a_file_says_its_last_change_and_leads_to_that_of_lines(
    client: httpx.Client, project_id: str
) -> None:
    address = f"/p/{project_id}/f/src/net/retry.py"
    page = Page.of(client.get(address, params={"lines": "6-7"}))
    assert "last changed" in page.text
    assert "by A: Move retries into a package" in page.text
    [link] = [link for link in page.links if "lines%3A" in link]
    found = Page.of(client.get(link)).text
    assert "Make retries exponential" in found
    assert "Move retries into a package" not in found


def test_a_file_says_who_changed_its_lines(
    client: httpx.Client, project_id: str, git: GitTree
) -> None:
    address = f"/p/{project_id}/f/src/net/retry.py"
    page = Page.of(client.get(address, params={"lines": "6-7", "q": "delay"}))
    assert not page.all("div", class_="blame")
    [switch] = [link for link in page.links if "blame=1" in link]
    client.get(switch.replace("blame=1", "blame=wait"))
    page = Page.of(client.get(switch))
    *_, changed, made = git.listed()
    shown = [link.rpartition("/")[2] for link in page.links if link.endswith((changed, made))]
    assert shown == [made, changed, made]
    assert "Ada Example" in page.text
    picked = [each["id"] for each in page.all("div") if "picked" in each.get("class", "").split()]
    assert picked == ["L6", "L7"]
    passages = [link for link in page.links if "match=" in link and "name=" not in link]
    assert passages
    names = [link for link in page.links if link.startswith("?") and "name=" in link]
    assert names
    for link in (*passages, *names, *(link for link in page.links if "at=" in link)):
        assert "blame=1" in link
    [back] = [link for link in page.links if "view=source" in link]
    assert not Page.of(client.get(back)).all("div", class_="blame")


def test_a_page_with_blame_does_not_wait_for_it_unless_told_to(
    client: httpx.Client, project_id: str, git: GitTree
) -> None:
    git.commit("New", {"new.py": "x = 1\n"})
    index_with_history(git.home / "home", git)
    address = f"/p/{project_id}/f/new.py"
    page = Page.of(client.get(address, params={"blame": "1", "lines": "1"}))
    assert page.all("code")
    assert not page.all("div", class_="blame")
    [link] = [each for each in page.all("a") if "data-blame" in each]
    assert "aria-current" not in link
    assert link["href"] == f"{address}?lines=1&blame=1"  # where scripts get it
    [wait] = [link for link in page.links if "blame=wait" in link]
    waited, kept = (Page.of(client.get(each)) for each in (wait, f"{address}?blame=1"))
    for page in (waited, kept):
        assert len(page.all("div", class_="run")) == 1
        assert not [link for link in page.links if "blame=wait" in link]
        [link] = [each for each in page.all("a") if "data-blame" in each]
        assert link["aria-current"] == "true"
        assert "view=source" in link["href"]


def test_scripts_are_given_who_changed_the_lines_alone(
    client: httpx.Client, project_id: str
) -> None:
    address = f"/p/{project_id}/f/src/net/retry.py"
    whole = Page.of(client.get(f"{address}?blame=wait"))
    part = Page.of(client.get(f"{address}?blame=1", headers={"HX-Request": "true"}))
    assert len(part.all("div", class_="run")) == len(whole.all("div", class_="run")) == 3
    assert not part.all("code")
    assert part.all("div")[0]["data-blame-hidden"] == f"{address}?view=source"


def test_blame_of_a_long_file_stands_beside_each_block(
    client: httpx.Client, project_id: str, git: GitTree
) -> None:
    text = "".join(f"x{number} = {number}\n" for number in range(450))
    git.commit("Long", {"long.py": text})
    index_with_history(git.home / "home", git)
    (git.root / "long.py").write_text(text.replace("x199 = 199\nx200 = 200\n", "y = 1\nz = 2\n"))
    with catalog_in(git.home / "home") as catalog:
        catalog.open(str(git.root)).index()
    answer = client.get(f"/p/{project_id}/f/long.py?blame=wait")
    page = Page.of(answer)
    runs = answer.text.split('<div class="run">')[1:]
    assert [run.partition("</div>")[0].count("\n") for run in runs] == [199, 1, 1, 199, 50]
    assert [run.startswith("not committed") for run in runs] == [False, True, True, False, False]
    assert len(page.all("div", class_="blame")) == 3
