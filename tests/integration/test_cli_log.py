"""``cairn log``: commits as text, JSON and Markdown."""

from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.git_history import GitTree, index_with_history, sample_history
from tests.support.jobs import catalog_in, until


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> GitTree:
    folder = tmp_path_factory.mktemp("log")
    git = sample_history(folder / "tree", folder)
    git.commit(
        "Rename \x1b[31mmany\n\n" + "\n".join(f"Reason {number}." for number in range(9)),
        {f"many/{number}.py": f"x = {number}\n" for number in range(12)},
    )
    index_with_history(folder / "home", git)
    return git


@pytest.fixture
def cairn(git: GitTree) -> Command:
    return Command(home=git.home / "home", folder=git.root, reads_here=True)


def test_a_question_as_text(cairn: Command, git: GitTree) -> None:
    ended = cairn("log", "when did retries become exponential", "--limit", "1")
    head, subject, body, file, _, totals = ended.out.splitlines()
    assert ended.code == 0
    assert head.split("  ")[:3] == [git.listed()[4][:10], "2020-09-15", "Ada Example"]
    assert subject == "    Make retries exponential"
    assert body == "    A server that is down got a request each second."
    assert file == "    M src/retry.py +1 -1"
    assert totals.startswith("1 of ")
    assert "history 6 commits since 2020-09-14" in totals


def test_long_commits_are_cut_and_control_characters_shown(cairn: Command) -> None:
    out = cairn("log", "--limit", "1").out
    assert "\x1b" not in out
    assert "    … 3 more lines" in out
    assert out.count("    A many/") == 10
    assert "    and 2 more files" in out


def test_a_question_as_json(cairn: Command, git: GitTree) -> None:
    shape = cairn("log", "retries author:ada", "--json").json()
    assert list(shape) == [
        *("project", "query", "took_ms", "total", "truncated", "coverage", "commits"),
    ]
    assert shape["total"] == 1
    [hit] = shape["commits"]
    assert hit["commit"] == git.listed()[4]
    assert hit["files"] == [
        {"path": "src/retry.py", "change": "modified", "old_path": None, "added": 1, "removed": 1}
    ]


def test_a_question_as_markdown(cairn: Command, git: GitTree) -> None:
    out = cairn("log", "--path", "src/net", "--format", "markdown").out
    assert out.startswith("## Commits: the newest\n\n### `")
    assert (
        "` Move retries into a package\n\n2020-09-16, A\n\n- `R src/retry.py → src/net/retry.py"
        in out
    )


def test_nothing_found_and_nothing_read(cairn: Command, git: GitTree, tmp_path: Path) -> None:
    assert "no commit matches\n" in cairn("log", "author:nobody").out
    other = sample_history(tmp_path / "other", tmp_path)
    with catalog_in(cairn.home) as catalog:
        catalog.create(str(other.root)).index()
    ended = cairn("log", "retry", "--project", str(other.root))
    assert ended.code == 0
    assert "note: the history is not read yet" in ended.out
    of_file = cairn("log", "--path", "src/cache.py", "--project", str(other.root)).out
    assert "note: the history is not read yet" in of_file
    assert "no stored commit changed" not in of_file


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lang:go",), "the filter lang: is about code, not about commits"),
        (("--after", "soon"), "'soon' is no date"),
        (("--limit", "0"), "limit is 0, wanted 1 to 100"),
        (("--json", "--format", "markdown"), "--json cannot be used with --format markdown"),
    ],
)
def test_bad_input_is_told(cairn: Command, arguments: tuple[str, ...], message: str) -> None:
    ended = cairn("log", *arguments)
    assert ended.code == 2
    assert message in ended.out + ended.err


def test_both_forms_of_lines_are_read_where_they_are_no_place(cairn: Command) -> None:
    dash, colon = (
        cairn("blame", "src/net/retry.py", "--lines", form, "--json").json()
        for form in ("2-3", "2:3")
    )
    assert {**dash, "took_ms": 0} == {**colon, "took_ms": 0}
    assert dash["runs"]
    place = cairn("log", "--lines", "src/net/retry.py:2:3")
    assert place.code == 2
    assert "hint: src/net/retry.py:2-3 for lines, src/net/retry.py:2 for one" in place.err


def test_a_file_means_the_same_with_and_without_a_named_project(
    cairn: Command, git: GitTree
) -> None:
    here = cairn("log", "src/net/retry.py", "--json").json()
    assert here["commits"]
    for command in (cairn, Command(home=cairn.home, folder=git.home, reads_here=True)):
        named = command("log", "src/net/retry.py", "--project", str(git.root), "--json").json()
        assert {**named, "took_ms": 0} == {**here, "took_ms": 0}


def test_what_no_commit_has_is_told(cairn: Command, git: GitTree) -> None:
    unknown = cairn("log", "deadbeef")
    assert unknown.out.startswith("no commit matches\n")
    assert "note: no stored commit begins with deadbeef\n" in unknown.out
    known = cairn("log", git.listed()[4][:10])
    assert "note: no stored" not in known.out
    nowhere = cairn("log", "retries", "--path", "nowhere/")
    assert "note: no stored commit changed a file below nowhere/\n" in nowhere.out
    file = cairn("log", "--path", "/src/unknown.py")
    assert "note: no stored commit changed /src/unknown.py\n" in file.out
    bytes_in_path = cairn("log", "--path", "src/\udcff.py")
    assert "note: no stored commit changed src/\ufffd.py\n" in bytes_in_path.out
    assert "no stored commit" not in cairn("log", "zzz", "--path", "many/").out


def test_lines_are_named_from_the_current_folder_or_the_root(cairn: Command, git: GitTree) -> None:
    below = Command(home=cairn.home, folder=git.root / "src", reads_here=True)
    root = ("--project", str(git.root))
    for command, lines, arguments in (
        (below, "net/retry.py:6", ()),
        (below, "../src/net/retry.py:6-6", ()),
        (below, "src/net/retry.py:6", ()),
        (cairn, "src/net/retry.py:6", ()),
        (below, "src/net/retry.py:6", root),
    ):
        found = command("log", "--lines", lines, *arguments, "--json").json()["commits"]
        assert [hit["subject"] for hit in found] == ["Make retries exponential", "Begin"]
    assert below("log", "--lines", "net/retry.py:6", *root).code == 2


@pytest.mark.slow
def test_indexing_by_the_command_line_is_followed_by_the_history(tmp_path: Path) -> None:
    git = sample_history(tmp_path / "tree", tmp_path)
    cairn = Command(home=tmp_path / "home", folder=git.root, reads_here=True)
    assert cairn("index", "--quiet").code == 0

    def commits() -> int:
        return int(cairn("log", "--json").json()["coverage"]["commits"])

    until(lambda: commits() == 5)
    until(lambda: "history" in cairn("jobs", "--json").out)
    with catalog_in(cairn.home) as catalog:
        until(lambda: all(job.finished_at for job in catalog.jobs.list().jobs))
