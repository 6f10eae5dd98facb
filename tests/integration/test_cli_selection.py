"""Which projects and which files a command means, when names are odd, damaged or behind links."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.trees import write_tree

pytestmark = pytest.mark.slow

CODE = "def refresh_session(token):\n    return token\n"


@pytest.fixture
def away(tmp_path: Path) -> Command:
    """Give a command in a folder that is in no project."""
    (tmp_path / "away").mkdir()
    return Command(home=tmp_path / "home", folder=tmp_path / "away", reads_here=True)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Give a command outside of the projects ``one``, ``two`` and ``three``; tests only read."""
    folder = tmp_path_factory.mktemp("three")
    (folder / "away").mkdir()
    command = Command(home=folder / "home", folder=folder / "away", reads_here=True)
    for name in ("one", "two", "three"):
        write_tree(folder / name, {"src/app.py": CODE + "# see project:x\n" * (name == "three")})
        assert command("index", str(folder / name), "--quiet").code == 0
    return command


def _index(command: Command, root: Path | str) -> Path:
    """Index a folder; its database file."""
    before = set(command.home.glob("*.db"))
    ended = command("index", str(root), "--quiet")
    assert ended.code == 0, ended
    [database] = set(command.home.glob("*.db")) - before
    return database


def _projects(command: Command, *arguments: str) -> list[str]:
    ended = command("search", *arguments, "--json")
    assert ended.code == 0, ended
    return sorted({os.path.basename(hit["project"]) for hit in ended.json()["hits"]})


def test_the_only_project_is_damaged(away: Command, tmp_path: Path) -> None:
    write_tree(tmp_path / "one", {"app.py": CODE})
    database = _index(away, tmp_path / "one")
    database.write_bytes(b"not a database, " * 1000)
    for arguments in (("search", "token"), ("status",), ("symbols", "token")):
        text = away(*arguments)
        assert (text.code, text.out) == (6, "")
        assert text.err.startswith("error: the index is damaged: ")
        assert f" ({database})\nhint: " in text.err
        shape = away(*arguments, "--json").json()
        assert shape["error"] == "damaged_index"
        assert shape["details"]["file"] == str(database)
        assert str(database) not in shape["message"]


def test_a_damaged_project_is_not_offered_as_a_choice(away: Command, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        write_tree(tmp_path / name, {"app.py": CODE})
    _index(away, tmp_path / "one").write_bytes(b"not a database, " * 1000)
    _index(away, tmp_path / "two")
    assert _projects(away, "token") == ["two"]
    _index(away, tmp_path / "three")
    ended = away("search", "token", "--json")
    assert ended.code == 3
    assert ended.json()["details"]["projects"] == [
        str(tmp_path / "three"),
        str(tmp_path / "two"),
    ]


def test_roots_that_are_not_utf8_are_found_again(away: Command, tmp_path: Path) -> None:
    parent = os.path.join(os.fsencode(tmp_path), b"d\xe9j\xe0")
    for name in (b"caf\xe9", b"caf\xe8", b"plain"):
        root = Path(os.fsdecode(os.path.join(parent, name)))
        write_tree(root, {"app.py": CODE + f"# {name!r}\n"})
    root = Path(os.fsdecode(os.path.join(parent, b"caf\xe9")))
    _index(away, root)
    inside = replace(away, folder=root)
    for command in (away, inside):
        assert _projects(command, "token") == ["caf\ufffd"]
        assert command("status").code == 0
        assert command("why", "app.py", "--project", str(root)).code == 0
    hits = away("search", "token", "--json").json()["hits"]
    assert [hit["fresh"] for hit in hits] == [True]
    _index(away, Path(os.fsdecode(os.path.join(parent, b"plain"))))
    assert _projects(away, "token -project:nosuch") == ["caf\ufffd", "plain"]


@pytest.mark.parametrize(
    ("arguments", "projects"),
    [
        (("token project:one",), ["one"]),
        (("token project:one project:two",), ["one", "two"]),
        (("token -project:one",), ["three", "two"]),
        (("token project:one", "--project", "../one"), ["one"]),
        (("token project:one", "--project", "../one/src"), ["one"]),
        (("token", "--project", "../one/src", "--project", "../two"), ["one", "two"]),
        (("token project:two", "--project", "../one/src", "--project", "../two"), ["two"]),
    ],
)
def test_the_query_chooses_among_projects(
    three: Command, arguments: tuple[str, ...], projects: list[str]
) -> None:
    assert _projects(three, *arguments) == projects


def test_two_folders_of_a_project_give_each_hit_once(three: Command) -> None:
    ended = three("search", "token", "--json", "--project", "../one", "--project", "../one/src")
    assert len(ended.json()["hits"]) == 1


@pytest.mark.parametrize("options", [(), ("--project", "../one"), ("--project", "../one/src")])
def test_a_project_that_the_query_names_in_vain_is_not_found(
    three: Command, options: tuple[str, ...]
) -> None:
    ended = three("search", "token project:nosuch", *options, "--json")
    assert (ended.code, ended.json()["error"]) == (3, "not_found")
    assert "nosuch" in ended.json()["message"]


def test_a_phrase_with_project_in_it_chooses_nothing(three: Command) -> None:
    ended = three("search", '"see project:x"', "--json")
    assert (ended.code, ended.json()["error"]) == (3, "not_found")
    assert "is not in an indexed project" in ended.json()["message"]
    inside = replace(three, folder=three.folder.parent / "three")
    assert _projects(inside, '"see project:x"') == ["three"]


def test_a_project_is_chosen_by_its_name(three: Command) -> None:
    assert _projects(three, "token", "--project", "one") == ["one"]
    assert _projects(three, "token", "--project", "one", "--project", "../two") == ["one", "two"]
    folder = three.folder.parent.name
    assert _projects(three, "token", "--project", f"{folder}/two") == ["two"]
    assert three("symbols", "refresh_session", "--project", "two").code == 0
    assert three("why", "src/app.py", "--project", "three").code == 0
    assert three("related", "src/app.py:1", "--project", "one").code == 0
    inside = replace(three, folder=three.folder.parent)  # a path wins over a name
    assert _projects(inside, "token", "--project", "two") == ["two"]
    other = replace(three, folder=three.folder.parent / "one" / "src")  # inside of another project
    assert _projects(other, "token", "--project", "two") == ["two"]
    typo = other("search", "token", "--project", "tree")
    assert typo.code == 3
    assert "did you mean 'three'" in typo.err
    for arguments in (("search", "token"), ("symbols", "token"), ("why", "src/app.py")):
        ended = three(*arguments, "--project", "nosuch")
        assert ended.code == 3
        assert "hint: the projects are " in ended.err
        assert str(three.folder.parent / "three") in ended.err
    assert three("clear", "one").code == 3  # what deletes wants the path


def test_a_part_of_a_name_is_enough_on_every_face(three: Command) -> None:
    whole = three("symbols", "refresh_session", "--project", "three", "--json").json()
    assert three("symbols", "refresh_session", "--project", "thr", "--json").json() == whole
    assert _projects(three, "token", "--project", "thr") == ["three"]
    assert _projects(three, "token project:thr") == ["three"]
    for name in ("t", "th"):
        short = three("status", name)
        assert short.code == 3
        assert f"no indexed project is called {name!r}" in short.err


def test_a_folder_that_is_not_indexed_is_no_part_of_a_name(away: Command, tmp_path: Path) -> None:
    for name in ("lib.foo", "lib.bar"):
        _index(away, write_tree(tmp_path / name, {"app.py": CODE}))
    several = away("status", "lib.")
    assert several.code == 3
    assert "'lib.' is what 2 projects are called" in several.err
    assert away("forget", str(tmp_path / "lib.bar"), "--yes").code == 0
    (away.folder / "lib").mkdir()
    for name in ("lib", ".", ""):
        for arguments in (("status", name), ("symbols", "refresh_session", "--project", name)):
            ended = away(*arguments)
            assert (ended.code, ended.out) == (3, ""), arguments
    (away.folder / "lib").rmdir()
    assert away("status", "lib").code == 0


def test_a_name_inside_a_project_is_no_path_in_it(three: Command) -> None:
    inside = replace(three, folder=three.folder.parent / "three")
    assert _projects(inside, "token", "--project", "one") == ["one"]
    assert _projects(inside, "token", "--project", "one", "--project", "two") == ["one", "two"]
    assert _projects(inside, "token", "--project", "src") == ["three"]  # a folder in it
    assert inside("status", "one", "--json").json()["path"].endswith("/one")
    jobs = inside("jobs", "list", "--project", "one", "--all", "--json").json()["jobs"]
    assert {os.path.basename(job["path"]) for job in jobs} == {"one"}
    for arguments in (
        ("search", "token", "--project", "nosuch"),
        ("search", "token", "--project", "one", "--project", "nosuch"),
        ("status", "nosuch"),
        ("status", str(inside.folder / "nosuch")),
        ("search", "token", "--project", "./nosuch"),
        ("jobs", "list", "--project", "nosuch"),
        ("clear", "nosuch", "--yes"),
        ("clear", "one", "--yes"),
        ("doctor", "nosuch"),
    ):
        ended = inside(*arguments)
        assert ended.code == 3, arguments
    assert inside("status", "--json").json()["files"] == 1


def test_what_destroys_wants_to_be_in_the_project_or_to_be_told(
    away: Command, tmp_path: Path
) -> None:
    _index(away, write_tree(tmp_path / "app", {"app.py": CODE}))
    assert away("status", "--json").json()["files"] == 1  # the only one there is
    for arguments in (("clear", "--yes"), ("doctor", "--rebuild")):
        ended = away(*arguments)
        assert ended.code == 3, arguments
        assert str(tmp_path / "app") in ended.err
    assert away("status", "--json").json()["files"] == 1
    assert away("clear", str(tmp_path / "app"), "--yes").code == 0


def test_a_project_whose_folder_is_gone_is_still_spoken_of(away: Command, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "app", {"app.py": CODE})
    _index(away, root)
    root.rename(tmp_path / "moved")
    assert away("status", str(root), "--json").json()["files"] == 1
    assert away("status", str(root / "src"), "--json").json()["files"] == 1
    assert away("clear", str(root), "--yes").code == 0


def test_a_name_that_two_projects_have_is_refused(away: Command, tmp_path: Path) -> None:
    for parent in ("a", "b"):
        write_tree(tmp_path / parent / "app", {"app.py": CODE})
        _index(away, tmp_path / parent / "app")
    ended = away("search", "token", "--project", "app")
    assert ended.code == 3
    assert str(tmp_path / "a" / "app") in ended.err
    assert str(tmp_path / "b" / "app") in ended.err
    assert _projects(away, "token", "--project", "b/app") == ["app"]


@pytest.mark.parametrize("folder", ["away", "two", "two/src"])
def test_an_absolute_path_speaks_of_its_own_project(three: Command, folder: str) -> None:
    parent = three.folder.parent
    command = replace(three, folder=parent / folder)
    path = str(parent / "one" / "src" / "app.py")
    ended = command("why", path, "--json")
    assert (ended.code, ended.json()["path"]) == (0, "src/app.py")
    assert command("symbols", "--file", path, "--json").json()["symbols"]
    ended = command("related", f"{path}:1", "--json")
    assert ended.code == 0
    assert ended.json()["query"].startswith("src/app.py")
    ended = command("why", str(parent / "home" / "x.py"), "--json")
    assert ended.code == (3 if folder == "away" else 2)  # in no project, or outside of this one


def test_each_line_of_a_batch_chooses_its_projects(three: Command) -> None:
    ended = three("search", "--batch", "-", given=b"token project:one\ntoken project:nosuch\n")
    assert ended.code == 3
    assert '"project": ' in ended.out.splitlines()[0]
    assert '"not_found"' in ended.out.splitlines()[1]


@pytest.mark.parametrize("is_logged", [True, False])
def test_a_damaged_project_that_is_named_tells_its_damage(
    away: Command, tmp_path: Path, is_logged: bool
) -> None:
    for name in ("one", "two"):
        write_tree(tmp_path / name, {"app.py": CODE})
    database = _index(away, tmp_path / "one")
    _index(away, tmp_path / "two")
    members = (str(tmp_path / name) for name in ("one", "two"))
    assert away("context", "create", "work", *members).code == 0
    database.write_bytes(b"not a database, " * 1000)
    if is_logged:
        assert away("doctor", str(tmp_path / "one")).code == 6
    else:
        shutil.rmtree(away.home / "logs", ignore_errors=True)
    name = "one" if is_logged else database.stem[:8]
    for arguments in (
        ("search", f"token project:{name}"),
        ("search", "token", "--project", name),
        ("symbols", "refresh_session", "--project", name),
    ):
        ended = away(*arguments, "--json")
        assert (ended.code, ended.json()["error"]) == (6, "damaged_index"), arguments
    partly = away("search", "token context:work", "--json").json()
    assert {os.path.basename(hit["project"]) for hit in partly["hits"]} == {"two"}
    assert [each["error"] for each in partly["errors"]] == ["damaged_index"]


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Give a command in an indexed project with links in it and to it; tests only read."""
    folder = tmp_path_factory.mktemp("linked")
    root = folder / "real" / "root"
    write_tree(root, {"build/b.py": CODE, "src/app.py": "app = 1\n", ".gitignore": "/build/\n"})
    (root / "src" / "bl").symlink_to("../build")
    (folder / "door").symlink_to("real/root")
    (folder / "side").symlink_to("real/root/src")
    command = Command(home=folder / "home", folder=root, reads_here=True)
    assert command("index", "--quiet").code == 0
    return command


@pytest.mark.parametrize(
    ("folder", "typed", "path"),
    [
        (".", "src/bl/b.py", "src/bl/b.py"),
        ("src", "bl/b.py", "src/bl/b.py"),
        (".", "{parent}/real/root/src/bl/b.py", "src/bl/b.py"),
        (".", "{parent}/door/src/bl/b.py", "src/bl/b.py"),
        (".", "../../door/src/bl/b.py", "src/bl/b.py"),
        (".", "{parent}/side/app.py", "src/app.py"),
        (".", "src/../src/app.py", "src/app.py"),
    ],
)
def test_a_path_behind_links_is_the_one_that_was_typed(
    linked: Command, folder: str, typed: str, path: str
) -> None:
    command = replace(linked, folder=linked.folder / folder)
    typed = typed.format(parent=linked.folder.parent.parent)
    ended = command("why", typed, "--json")
    assert ended.code == 0
    assert (ended.json()["path"], ended.json()["outcome"]) == (path, "indexed")
    assert command("symbols", "--file", typed, "--json").code == 0


def test_a_path_from_the_root_may_go_through_links(linked: Command) -> None:
    away = replace(linked, folder=linked.home)
    door = str(linked.folder.parent.parent / "door")
    for project in (str(linked.folder), door):
        ended = away("why", "src/bl/b.py", "--project", project, "--json")
        assert (ended.json()["path"], ended.json()["outcome"]) == ("src/bl/b.py", "indexed")


def test_a_link_out_of_the_root_is_not_followed_by_a_path(linked: Command) -> None:
    ended = linked("why", "../../side/../../home", "--json")
    assert (ended.code, ended.json()["error"]) == (2, "validation_error")


def test_a_whole_name_is_enough_for_the_doctor(three: Command) -> None:
    ended = three("doctor", "two", "--json")
    assert (ended.code, ended.json()["path"]) == (0, str(three.folder.with_name("two")))
    part = three("doctor", "thr", "--json")
    assert (part.code, part.json()["message"]) == (
        3,
        "no indexed project is called 'thr', did you mean 'three'",
    )


@pytest.mark.parametrize("command", ["clear", "forget"])
def test_a_name_is_not_enough_to_delete(three: Command, command: str) -> None:
    root = three.folder.with_name("two")
    ended = three(command, "two", "--yes", "--json")
    assert (ended.code, ended.json()["message"]) == (3, f"two is the name of {root}")
    assert ended.json()["details"]["hint"] == f"give its path: cairn {command} {root}"
    assert three("status", "two").code == 0


@pytest.mark.parametrize(
    ("path", "said"),
    [("my app", "'my app'"), ("-odd", "-- -odd"), ("plain", "plain")],
)
def test_what_is_not_indexed_is_told_as_a_command_to_copy(
    three: Command, path: str, said: str
) -> None:
    (three.folder / path).mkdir()
    ended = three("search", "x", f"--project={path}")
    assert ended.err == f"error: {path} is not indexed\nhint: index it: cairn index {said}\n"
