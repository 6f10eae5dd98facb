"""Links that lead in circles, out of the root, into secrets, or elsewhere when they are read."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from engine.records import SkipReason
from tests.support.canaries import TOKENS
from tests.support.hostile.case import INDEXED, IS_INDEXED, Case, NotBuiltError, Place, one_of

_OUTSIDE = one_of(SkipReason.SYMLINK_OUTSIDE)
_CYCLE = one_of(SkipReason.SYMLINK_CYCLE)
_ENDLESS = one_of(SkipReason.SYMLINK_BROKEN, SkipReason.SYMLINK_CYCLE)
_SECRET = one_of(SkipReason.SECRET_FILE)
_ANYWHERE = one_of(INDEXED, SkipReason.SYMLINK_BROKEN, SkipReason.SYMLINK_OUTSIDE)
_DEPTH = 40
_CHAIN = 60  # systems follow some 40 links


def _link(place: Place, name: str, target: str | Path) -> None:
    path = place.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def _self_loop(place: Place) -> None:
    _link(place, "loop", "loop")


def _two_loop(place: Place) -> None:
    _link(place, "a", "b")
    _link(place, "b", "a")


def _folder_loop(place: Place) -> None:
    deep = "/".join(["d"] * _DEPTH)
    place.write(f"{deep}/bottom.py", "bottom = 1\n")
    _link(place, f"{deep}/up", place.folder)


def _etc_folder(place: Place) -> None:
    _link(place, "etc", "/etc")


def _etc_file(place: Place) -> None:
    _link(place, "passwd.txt", "/etc/passwd")


def _parent_of_root(place: Place) -> None:
    place.lure("parent.py")
    _link(place, "parent", "../../../")


def _other_project(place: Place) -> None:
    """Link to a folder beside the root whose name begins like the root's."""
    twin = place.lure("app.py").parent
    beside = place.root.with_name(place.root.name + "-other")
    shutil.copytree(twin, beside, dirs_exist_ok=True)
    _link(place, "other", beside)


def _dangling(place: Place) -> None:
    _link(place, "gone.py", "nowhere.py")


def _climbing(place: Place) -> None:
    """Climb out of the root by dots and come back by its name."""
    place.write("own.py", "own = 1\n")
    _link(place, "back.py", f"../../../{place.root.name}/{place.folder.name}/../links/x.py")
    _link(place, "out.py", f"../../../{place.lure('climbed.py').parent.name}/climbed.py")


def _root_itself(place: Place) -> None:
    """Link to the root by the link through which it is indexed."""
    _link(place, "again", place.entrance)


def _bind_mount(place: Place) -> None:
    """Mount the case's folder into itself: a loop without a link."""
    inside = place.folder / "inside"
    inside.mkdir(parents=True)
    place.write("app.py", "mounted = 1\n")
    try:
        done = subprocess.run(
            ["mount", "--bind", place.folder, inside], capture_output=True, check=False
        )
    except OSError as error:
        raise NotBuiltError(f"mount: {error}") from error
    if done.returncode:
        raise NotBuiltError(done.stderr.decode(errors="replace").strip())
    place.undo.callback(lambda: subprocess.run(["umount", inside], check=True))


def _hard_link_to_secret(place: Place) -> None:
    """A second name of a secret file: its words are found, its secret is not."""
    token = place.forbid(TOKENS["github"](place.draw))
    place.write("real/.netrc", f"machine host login me password {token}\n")
    os.link(place.folder / "real/.netrc", place.folder / "notes.txt")


def _link_to_secret(place: Place) -> None:
    token = place.forbid("quince" + place.draw("bcdfghjklmnpqrstvwxz", 20))
    place.write(".env", f"WORD={token}\n")
    _link(place, "settings.txt", ".env")


def _same_folder_twice(place: Place) -> None:
    place.write("real/app.py", "app = 1\n")
    _link(place, "first", "real")
    _link(place, "second", "real")


def _into_git(place: Place) -> None:
    place.write(".git/hooks/pre-commit.py", "hook = 1\n")
    _link(place, "hooks", ".git/hooks")


def _long_chain(place: Place) -> None:
    place.write("end.py", "end = 1\n")
    for number in range(_CHAIN):
        _link(
            place, f"link{number}.py", f"link{number + 1}.py" if number < _CHAIN - 1 else "end.py"
        )


def _swapped_file(place: Place) -> None:
    lure = place.lure("swapped.py")
    place.write("file.py", "own = 1\n")
    _link(place, "away", lure)


def _swap_file(folder: Path) -> None:
    _swap(folder / "file.py", folder / "away")


def _swapped_folder(place: Place) -> None:
    lure = place.lure("sub/file.py")
    place.write("sub/file.py", "own = 1\n")
    _link(place, "away", lure.parent)


def _swap_folder(folder: Path) -> None:
    _swap(folder / "sub", folder / "away")


def _swap(path: Path, link: Path) -> None:
    """Put a link into the place of something for a moment."""
    kept = path.with_name("kept")
    with suppress(FileNotFoundError):
        path.rename(kept)
        link.rename(path)
        path.rename(link)
        kept.rename(path)


_SWAPPED = frozenset(
    {
        INDEXED,
        SkipReason.VANISHED.value,
        SkipReason.SYMLINK_OUTSIDE.value,
        SkipReason.SYMLINK_BROKEN.value,
        SkipReason.UNREADABLE.value,
        SkipReason.NOT_REGULAR.value,  # the link, after the folder was listed
        "missing",
        "not_seen",
    }
)


_FILE_LINKS = {
    "self loop": (_self_loop, {"loop": _ENDLESS}),
    "two loop": (_two_loop, {"a": _ENDLESS, "b": _ENDLESS}),
    "folder loop": (
        _folder_loop,
        {f"{'d/' * _DEPTH}bottom.py": IS_INDEXED, f"{'d/' * _DEPTH}up": _CYCLE},
    ),
    "to etc": (_etc_folder, {"etc": _OUTSIDE}),
    "to etc passwd": (_etc_file, {"passwd.txt": _OUTSIDE}),
    "to the parent of the root": (_parent_of_root, {"parent": _OUTSIDE}),
    "to another project": (_other_project, {"other": _OUTSIDE}),
    "dangling": (_dangling, {"gone.py": one_of(SkipReason.SYMLINK_BROKEN)}),
    "climbing": (_climbing, {"own.py": IS_INDEXED, "back.py": _ANYWHERE, "out.py": _OUTSIDE}),
    "to the root": (_root_itself, {"again": one_of(*_CYCLE, *_OUTSIDE)}),
    "bind mount": (_bind_mount, {"app.py": IS_INDEXED, "inside": _CYCLE}),
    "hard link to a secret": (
        _hard_link_to_secret,
        {"real/.netrc": _SECRET, "notes.txt": IS_INDEXED},
    ),
    "link to a secret": (_link_to_secret, {".env": _SECRET, "settings.txt": _SECRET}),
    "one folder twice": (
        _same_folder_twice,
        {
            "real/app.py": IS_INDEXED,
            "first/app.py": IS_INDEXED,
            "second": one_of(SkipReason.SYMLINK_REPEATED),
        },
    ),
    "into git": (
        _into_git,
        {"hooks": one_of(SkipReason.DEFAULT_EXCLUDED), ".git": one_of(SkipReason.DEFAULT_EXCLUDED)},
    ),
    "long chain": (_long_chain, {"end.py": IS_INDEXED, "link0.py": _ANYWHERE}),
}

CASES = (
    *(
        Case(class_="links", name=name, build=build, expect=expect)
        for name, (build, expect) in _FILE_LINKS.items()
    ),
    Case(
        class_="links",
        name="swapped file",
        build=_swapped_file,
        expect={"file.py": _SWAPPED},
        meanwhile=_swap_file,
    ),
    Case(
        class_="links",
        name="swapped folder",
        build=_swapped_folder,
        expect={"sub/file.py": _SWAPPED},
        meanwhile=_swap_folder,
    ),
)
