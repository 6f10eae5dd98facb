"""The command line with the whole engine behind it: what it prints, and how it ends."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.patience import patience
from tests.support.trees import write_tree
from web.cli.main import COMMANDS

SESSION = '''"""Sessions of users."""


class SessionStore:
    """Keeps sessions."""

    def refresh_session(self, token: str) -> str:
        """Make a session live longer."""
        return token.strip()


def parse_config(text: str) -> dict[str, str]:
    """Read a configuration."""
    return dict(line.split("=") for line in text.splitlines())
'''


def make_repository(root: Path) -> Path:
    """Make a small repository with something of every kind."""
    files = {
        "src/session.py": SESSION,
        "src/server.go": "package main\n\n// ServeRequests answers.\nfunc ServeRequests() error {\n"
        "\treturn nil\n}\n",
        "docs/guide.md": "# Guide\n\nHow to parse a config and refresh a session.\n",
        ".gitignore": "build/\n*.log\n",
        "debug.log": "refresh session\n",
        "build/out.py": "def built(): pass\n",
        ".env": "PASSWORD=hunter2\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\0")
    return root


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Give a command in an indexed repository; the tests that share it only read."""
    folder = tmp_path_factory.mktemp("cli")
    command = Command(home=folder / "home", folder=make_repository(folder / "repository"))
    ended = command("index", "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    return command


@pytest.fixture
def fresh(tmp_path: Path) -> Command:
    """Give a command in a repository that is not indexed yet."""
    return Command(home=tmp_path / "home", folder=make_repository(tmp_path / "repository"))


def test_index_prints_one_object_with_the_documented_keys(fresh: Command) -> None:
    ended = fresh("index", "--json", "--exclude", "docs/")
    report = ended.json()
    assert list(report) == [
        "project_id",
        "path",
        "include_patterns",
        "exclude_patterns",
        "max_file_size",
        "files_indexed",
        "files_unchanged",
        "files_skipped",
        "files_failed",
        "symbols_extracted",
        "chunks",
        "embeddings_generated",
        "cache_hit_rate",
        "duration_ms",
        "indexed_at",
        "errors",
        "files_removed",
    ]
    assert (ended.code, ended.err) == (0, "")
    assert report["path"] == str(fresh.folder)
    assert report["exclude_patterns"] == ["docs/"]
    assert report["files_failed"] == 0
    assert report["symbols_extracted"] >= 4
    assert (fresh.home / f"{report['project_id']}.db").exists()


def test_index_says_what_it_did_and_keeps_the_scope(fresh: Command) -> None:
    first = fresh("index", "--include", "*.py", "--max-size", "1000")
    assert first.code == 0
    assert f"indexed {fresh.folder} in " in first.out
    assert "1 new or changed, 0 unchanged" in first.out
    activities = ("waiting", "starting", "looking for files", "indexing", "storing", "finishing")
    assert all(line.startswith(activities) for line in first.err.splitlines())
    assert "\x1b" not in first.out + first.err
    again = fresh("index", "--json").json()
    assert (again["include_patterns"], again["max_file_size"]) == (["*.py"], 1000)
    assert (again["files_indexed"], again["files_unchanged"]) == (0, 1)
    wide = fresh("index", "--json", "--include", "").json()
    assert wide["include_patterns"] == []
    assert wide["files_indexed"] >= 2


def test_each_option_of_the_scope_replaces_only_its_own_part(fresh: Command) -> None:
    def scope(*arguments: str) -> tuple[list[str], list[str], int]:
        report = fresh("index", "--json", *arguments).json()
        return report["include_patterns"], report["exclude_patterns"], report["max_file_size"]

    whole = (["*.py", "*.md"], ["docs/", "old/"], 1000)
    globs = ("--include", "*.py", "--include", "*.md", "--exclude", "docs/", "--exclude", "old/")
    assert scope(*globs, "--max-size", "1000") == whole
    assert scope() == whole
    assert scope("--exclude", "") == (["*.py", "*.md"], [], 1000)
    assert scope("--exclude", "src/") == (["*.py", "*.md"], ["src/"], 1000)
    assert scope("--include", "") == ([], ["src/"], 1000)
    assert scope("--max-size", "2000") == ([], ["src/"], 2000)
    assert scope("--max-size", "3k") == ([], ["src/"], 3 << 10)
    assert scope("--max-size", "10 MB") == ([], ["src/"], 10 << 20)


def test_index_without_a_path_means_the_project_around(cairn: Command) -> None:
    inside = replace(cairn, folder=cairn.folder / "src")
    assert inside("index", "--json").json()["path"] == str(cairn.folder)


def test_search_prints_one_object_with_the_documented_keys(cairn: Command) -> None:
    ended = cairn("search", "refresh session", "--json")
    answer = ended.json()
    assert (ended.code, ended.err) == (0, "")
    assert list(answer) == ["query", "mode", "took_ms", "total", "truncated", "coverage", "hits"]
    assert (answer["query"], answer["mode"], answer["truncated"]) == (
        "refresh session",
        "hybrid",
        False,
    )
    assert list(answer["coverage"]) == ["files", "found", "indexed", "embedded", "complete"]
    hit = answer["hits"][0]
    assert list(hit) == [
        "project",
        "path",
        "line_start",
        "line_end",
        "language",
        "symbol",
        "kind",
        "signature",
        "score",
        "why",
        "fresh",
        "snippet",
        "confidence",
    ]
    assert (hit["project"], hit["path"]) == (str(cairn.folder), "src/session.py")
    assert (hit["language"], hit["fresh"]) == ("python", True)
    assert "def refresh_session" in hit["snippet"]


def test_search_shows_text_for_people(cairn: Command) -> None:
    ended = cairn("search", "parse_config")
    assert ended.code == 0
    first, *lines = ended.out.splitlines()
    assert first.startswith("src/session.py:")
    assert "function parse_config" in first
    assert any(line.endswith("| def parse_config(text: str) -> dict[str, str]:") for line in lines)
    assert "coverage 100% of " in lines[-1]
    assert "\x1b" not in ended.out


def test_search_shows_markdown_for_prompts(cairn: Command) -> None:
    ended = cairn("search", "parse_config", "--format", "markdown", "--limit", "1")
    lines = ended.out.splitlines()
    assert lines[0] == "## Relevant Code from Index"
    assert re.fullmatch(r"### 1\. function `parse_config` \(\d+% match\)", lines[2])
    assert lines[3].startswith("**File**: `src/session.py` L")
    assert lines[4].startswith("**Signature**: `def parse_config(")
    assert "```python" in lines


def test_filters_and_options_narrow_a_search(cairn: Command) -> None:
    def paths(*arguments: str) -> set[str]:
        return {hit["path"] for hit in cairn("search", "--json", *arguments).json()["hits"]}

    assert paths("config", "--path", "docs/") == {"docs/guide.md"}
    assert paths("config", "--language", "python") == {"src/session.py"}
    assert paths("ServeRequests", "--kind", "function") == {"src/server.go"}
    assert paths("config", "--limit", "1") < paths("config")
    assert paths("--", "-path:docs/ config") == {"src/session.py"}
    bare = cairn("search", "config", "--no-snippets", "--json").json()
    assert {hit["snippet"] for hit in bare["hits"]} == {""}
    tight = cairn("search", "config session", "--max-tokens", "100", "--json").json()
    assert tight["truncated"]


def test_without_a_query_options_list_what_they_choose(cairn: Command) -> None:
    answer = cairn("search", "--kind", "class", "--json").json()
    assert {hit["kind"] for hit in answer["hits"]} == {"class"}
    assert answer == {
        **cairn("search", "kind:class", "--json").json(),
        "query": "",
        "took_ms": answer["took_ms"],
    }


def test_an_empty_answer_is_no_failure_and_says_what_to_try(cairn: Command) -> None:
    ended = cairn("search", "zyxwvut", "--kind", "class")
    assert ended.code == 0
    assert "nothing found for 'zyxwvut'" in ended.out
    assert "try: without --kind class" in ended.out


def test_several_projects_are_searched_and_a_failing_one_is_reported(
    fresh: Command, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other")
    fresh("index", "--quiet")
    fresh("index", str(other), "--quiet")
    both = ["--project", str(fresh.folder), "--project", str(other)]
    answer = fresh("search", "parse config", *both, "--json").json()
    assert {hit["project"] for hit in answer["hits"]} == {str(fresh.folder), str(other)}
    assert "errors" not in answer
    gone = [*both, "--project", str(tmp_path)]
    ended = fresh("search", "parse config", *gone, "--json")
    assert ended.code == 0
    assert [list(error) for error in ended.json()["errors"]] == [["project", "error", "message"]]
    text = fresh("search", "parse config", *gone)
    assert f"error: {tmp_path}: " in text.err
    assert f"{other}/src/session.py:" in text.out


def test_a_batch_answers_each_line_and_bad_ones_with_an_error(
    cairn: Command, tmp_path: Path
) -> None:
    queries = b"parse config\ncase:nosuch\n\n\xff refresh\r\nServeRequests\n"
    file = tmp_path / "queries.txt"
    file.write_bytes(queries)
    ended = cairn("search", "--batch", str(file), "--json", "--limit", "1")
    assert cairn("search", "--batch", "-", "--limit", "1", given=queries).out.count("\n") == 5
    good, bad, empty, odd, last = [json.loads(line) for line in ended.out.splitlines()]
    assert ended.code == 2
    assert good["hits"][0]["path"] == "src/session.py"
    assert list(bad) == ["error", "message", "details"]
    assert bad["error"] == "validation_error"
    assert (bad["details"]["query"], bad["details"]["line"]) == ("case:nosuch", 2)
    assert empty["details"]["line"] == 3
    assert odd["query"] == "\ufffd refresh"
    assert last["hits"][0]["path"] == "src/server.go"


def test_an_error_in_a_batch_has_the_hint_that_it_has_alone(cairn: Command) -> None:
    alone = cairn("search", "/a(/", "--json").json()
    [line] = cairn("search", "--batch", "-", "--json", given=b"/a(/\n").out.splitlines()
    assert json.loads(line)["details"] == {**alone["details"], "query": "/a(/", "line": 1}
    assert alone["details"]["hint"]


def test_a_batch_answers_each_line_at_once(cairn: Command) -> None:
    with cairn.start("search", "--batch", "-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for query in ("parse config", "refresh session"):
            process.stdin.write(f"{query}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["query"] == query
        process.stdin.close()
        assert process.wait(timeout=patience(30)) == 0


def test_symbols_by_name(cairn: Command) -> None:
    def names(*arguments: str) -> list[str]:
        found = cairn("symbols", *arguments, "--json").json()["symbols"]
        return [symbol["name"] for symbol in found]

    assert names("parse_config") == ["parse_config"]
    assert names("parse") == []
    assert names("parse", "--match", "prefix") == ["parse_config"]
    assert "parse_config" in names("prase_config", "--match", "fuzzy")
    assert names("SessionStore", "--kind", "function") == []
    [symbol] = cairn("symbols", "refresh_session", "--json").json()["symbols"]
    assert list(symbol) == [
        "project",
        "path",
        "name",
        "qualified_name",
        "kind",
        "signature",
        "doc",
        "language",
        "line_start",
        "line_end",
        "exported",
        "score",
    ]
    assert symbol["qualified_name"] == "SessionStore.refresh_session"
    assert "try --match prefix" in cairn("symbols", "parse").out
    assert cairn("symbols", "refresh_sesion").out == (
        "no symbol matches 'refresh_sesion', did you mean 'refresh_session'\n"
    )
    by_module = cairn("symbols", "app.session.open_session", "--json").json()
    assert by_module == cairn("symbols", "open_session", "--json").json()
    of_a_kind = cairn("symbols", "app.session.open_session", "--kind", "class", "--json").json()
    assert of_a_kind["symbols"] == []
    one = cairn("symbols", "s", "--match", "prefix", "--limit", "1").out
    assert "or raise --limit" in one.splitlines()[-1]


def test_the_outline_of_a_file(cairn: Command) -> None:
    ended = cairn("symbols", "--file", "src/session.py")
    assert [line.split()[1:] for line in ended.out.splitlines()] == [
        ["class", "SessionStore"],
        ["method", "refresh_session"],
        ["function", "parse_config"],
    ]
    shape = cairn("symbols", "--file", "src/session.py", "--json").json()
    assert list(shape) == ["symbols", "total", "truncated"]
    assert (len(shape["symbols"]), shape["total"], shape["truncated"]) == (3, 3, False)
    inside = replace(cairn, folder=cairn.folder / "src")
    assert inside("symbols", "--file", "session.py").out == ended.out
    away = replace(cairn, folder=cairn.home)
    rooted = away("symbols", "--file", "src/session.py", "--project", str(cairn.folder))
    assert rooted.out == ended.out


def test_status_prints_one_object_with_the_documented_keys(cairn: Command) -> None:
    status = cairn("status", "--json").json()
    assert list(status) == [
        "project_id",
        "path",
        "branch",
        "files",
        "symbols",
        "chunks",
        "embeddings",
        "skips",
        "coverage",
        "model",
        "fingerprint",
        "size_bytes",
        "last_indexed_at",
        "jobs",
        "watch",
        "folder_exists",
        "branches",
        "commits",
        "history",
    ]
    assert status["files"] >= 3
    assert status["skips"]["ignored"] >= 2
    assert status["skips"]["secret_file"] == 1
    text = cairn("status").out
    assert str(cairn.folder) in text
    assert "secret file" in text


def test_projects_are_listed(fresh: Command) -> None:
    assert "nothing is indexed yet" in fresh("projects").out
    fresh("index", "--quiet")
    [project] = fresh("projects", "--json").json()["projects"]
    assert list(project) == [
        "project_id",
        "path",
        "files",
        "size_bytes",
        "last_indexed_at",
        "error",
        "folder_exists",
    ]
    assert project["path"] == str(fresh.folder)
    assert str(fresh.folder) in fresh("projects").out


def test_the_only_project_is_meant_anywhere(cairn: Command, tmp_path: Path) -> None:
    away = replace(cairn, folder=tmp_path)
    assert away("status", "--json").json()["path"] == str(cairn.folder)


def test_clear_empties_and_forget_deletes_and_both_ask(fresh: Command) -> None:
    fresh("index", "--quiet", "--include", "*.py")
    for arguments in (("clear",), ("forget", ".")):
        ended = fresh(*arguments)
        assert ended.code == 2
        said = "error: no terminal to ask for confirmation on\nhint: add --yes"
        assert ended.err.startswith(said)
    assert fresh("clear", "--yes", "--json").json()["cleared"] is True
    assert fresh("status", "--json").json()["files"] == 0
    assert fresh("index", "--json").json()["include_patterns"] == ["*.py"]
    inside = fresh("forget", "src", "--yes")
    assert inside.code == 3
    assert f"the indexed roots are {fresh.folder}" in inside.err
    gone = fresh("forget", ".", "--yes", "--json")
    assert list(gone.json()) == ["project_id", "path", "contexts", "forgotten"]
    assert list(fresh.home.glob("*.db*")) == []
    assert fresh("status").code == 3
    assert (fresh.folder / "src/session.py").exists()


def test_without_arguments_it_shows_its_help(cairn: Command) -> None:
    ended = cairn()
    assert ended.code == 0
    assert ended.out == cairn("--help").out
    for name, line in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", ended.out, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_subcommand_has_examples(cairn: Command, name: str) -> None:
    ended = replace(cairn, reads_here=True)(name, "--help")
    assert ended.code == 0
    assert f"Usage: cairn {name} " in ended.out
    assert f"  Examples:\n    cairn {name}" in ended.out
    assert all(len(line) <= 100 for line in ended.out.splitlines())


def test_removed_files_are_counted_and_a_cleared_index_says_so(tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "tree", {"a.py": "def a():\n    pass\n", "b.py": "b = 1\n"})
    cairn = Command(home=tmp_path / "home", folder=folder)
    first = cairn("index", "--json").json()
    assert first["files_removed"] == 0
    (folder / "b.py").unlink()
    assert "0 new or changed, 1 removed, 1 unchanged, 0 skipped, 0 failed" in cairn("index").out
    (folder / "a.py").unlink()
    (folder / "c.py").write_text("c = 1\n")
    again = cairn("index", "--json").json()
    assert (again["files_indexed"], again["files_removed"]) == (1, 1)
    assert cairn("clear", "--yes").code == 0
    for command in (("refs", "a"), ("search", "a"), ("map",)):
        told = cairn(*command).out
        assert "nothing is indexed: cleared, or not indexed yet" in told
        assert "did not finish" not in told
