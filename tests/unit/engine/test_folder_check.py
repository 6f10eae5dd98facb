"""What speaks against indexing a folder."""

import os
from pathlib import Path

import pytest

from engine.errors import InvalidPathError, UnconfirmedFolderError
from engine.folder_check import check_folder, require_permission

DATA = Path("/srv/cairn")


@pytest.mark.parametrize(
    "root",
    [
        "/proc",
        "/proc/1",
        "/sys",
        "/sys/class/net",
        "/dev",
        "/dev/shm",
        "/srv/cairn/logs",
        str(DATA),
    ],
)
def test_what_holds_no_files_and_its_own_data_is_never_indexed(root: str) -> None:
    assert root in check_folder(root, DATA).refusal
    with pytest.raises(InvalidPathError, match=root) as refused:
        require_permission(root, DATA, path=root, is_confirmed=True)
    assert not isinstance(refused.value, UnconfirmedFolderError)
    assert refused.value.details == {"field": "path", "path": root}


@pytest.mark.parametrize(
    "root",
    ["/", "/etc", "/root", "/home", "/home/me", "/Users/me", "/home/me/.ssh", "/srv/.gnupg/a/b"],
)
def test_what_hardly_anybody_means_must_be_confirmed(root: str) -> None:
    found = check_folder(root, DATA)
    assert not found.refusal
    assert root in found.doubt
    assert found.question == found.doubt
    with pytest.raises(UnconfirmedFolderError) as refused:
        require_permission(root, DATA, path="as given", is_confirmed=False)
    assert refused.value.details["path"] == "as given"
    assert "--yes" in refused.value.hint
    require_permission(root, DATA, path=root, is_confirmed=True)


def test_the_home_directory_is_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = os.path.realpath(tmp_path)
    monkeypatch.setenv("HOME", home)
    assert "home directory" in check_folder(home, DATA).doubt
    assert not check_folder(f"{home}/src", DATA).doubt


@pytest.mark.parametrize(
    "root", ["/home/me/src", "/processes", "/developer", "/srv/cairn-2", "/srv", "/etc/app", "/opt"]
)
def test_any_other_folder_is_indexed(root: str) -> None:
    assert check_folder(root, DATA).question == ""
    require_permission(root, DATA, path=root, is_confirmed=False)


def test_a_folder_in_or_around_a_project_is_told() -> None:
    assert "lies in /src/app" in check_folder("/src/app/lib", DATA, ["/src/app", "/x"]).overlap
    around = check_folder("/src", DATA, ["/src/d", "/src/b", "/src/c", "/src/a"])
    assert "contains /src/a, /src/b, /src/c and 1 more" in around.overlap
    assert not around.doubt
    assert check_folder("/src", DATA, ["/src", "/src2", "/sr"]).overlap == ""
    both = check_folder("/", DATA, ["/src"])
    assert both.question == f"{both.doubt}; {both.overlap}"
