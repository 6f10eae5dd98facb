"""Where symbolic links lead, found by hand: one name at a time, never out of the root.

Nothing outside the root is looked at. A target that spells the root's own path, or climbs out of it
and comes back by its name, is inside; any other way out is outside, wherever it would end.
"""

import os
import stat
from typing import Final, NamedTuple

from engine.records import SkipReason, display_path
from engine.source.open_folders import FOLDER_FLAGS, open_beneath

_MAX_LINKS: Final = 40  # in one resolution, as in Linux
_MAX_SHOWN_CHARACTERS: Final = 200
_MAX_STEPS: Final = 8192  # folders opened in one resolution


class Target(NamedTuple):
    """Where a link leads."""

    real_path: str  # relative to the root, without links
    stat: os.stat_result  # of what is there; not of a link


class NotFollowedError(Exception):
    """A link that leads nowhere inside the root.

    Args:
        reason: SYMLINK_OUTSIDE, SYMLINK_BROKEN or UNREADABLE.
        detail: Where it leads or what failed, in words.
    """

    def __init__(self, reason: SkipReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class LinkResolver:
    """Follows links inside one root.

    Args:
        descriptor: Of the root; stays the caller's.
        root: The root's absolute path without links.
        given_root: The root's absolute path as the caller wrote it.
    """

    def __init__(self, descriptor: int, root: str, given_root: str) -> None:
        self._descriptor = descriptor
        self._above_root = _names_of(os.path.dirname(root))
        self._spellings = (_names_of(root), _names_of(given_root))

    def follow(self, folder: str, name: str) -> Target:
        """Follow a link.

        Args:
            folder: Path of its folder from the root, without links.
            name: Its name.

        Raises:
            NotFollowedError: It leads out of the root, to nothing, or may not be followed.
        """
        place = _Place(self._descriptor, folder.split("/") if folder else [])
        try:
            return self._follow(place, [name])
        except OSError as error:
            reason = SkipReason.SYMLINK_BROKEN
            if isinstance(error, PermissionError):
                reason = SkipReason.UNREADABLE
            raise NotFollowedError(reason, error.strerror or "cannot be followed") from None
        finally:
            place.close()

    def _follow(self, place: "_Place", names: list[str]) -> Target:
        """Go through names, the next one last, from a place."""
        links = 0
        while names:
            name = names.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if not place.up():
                    self._come_back(names, self._above_root)
                continue
            found = place.look(name)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if links > _MAX_LINKS:
                    raise NotFollowedError(SkipReason.SYMLINK_BROKEN, "too many links in a row")
                target = place.read_link(name)
                names += reversed(target.split("/"))
                if target.startswith("/"):
                    place.restart()
                    self._come_back(names, [])
            elif stat.S_ISDIR(found.st_mode):
                place.down(name)
            elif any(rest not in ("", ".") for rest in names):
                raise NotFollowedError(SkipReason.SYMLINK_BROKEN, "leads through a file")
            else:
                return Target(place.path_of(name), found)
        return Target(place.path, place.stat())

    def _come_back(self, names: list[str], outside: list[str]) -> None:
        """Take names away until they have led into the root from a folder outside, by spelling."""
        place = list(outside)
        while place not in self._spellings:
            if not names:
                shown = display_path("/".join(place))[:_MAX_SHOWN_CHARACTERS]
                raise NotFollowedError(SkipReason.SYMLINK_OUTSIDE, f"leads to /{shown}")
            name = names.pop()
            if name == "..":
                del place[-1:]
            elif name not in ("", "."):
                place.append(name)


def _names_of(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


class _Place:
    """A folder that a resolution has come to."""

    def __init__(self, root: int, names: list[str]) -> None:
        self._root = root
        self._names = names
        self._descriptor = -1  # of the folder, -1 while it is not open
        self._steps = 0

    @property
    def path(self) -> str:
        return "/".join(self._names)

    def path_of(self, name: str) -> str:
        return "/".join([*self._names, name])

    def look(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self._opened(), follow_symlinks=False)

    def read_link(self, name: str) -> str:
        return os.readlink(name, dir_fd=self._opened())

    def stat(self) -> os.stat_result:
        return os.fstat(self._opened())

    def down(self, name: str) -> None:
        self._count(1)
        below = os.open(name, FOLDER_FLAGS, dir_fd=self._opened())
        self.close()
        self._descriptor = below
        self._names.append(name)

    def up(self) -> bool:
        """Go to the folder above; False in the root."""
        if not self._names:
            return False
        self._names.pop()
        self.close()
        return True

    def restart(self) -> None:
        """Go to the root."""
        self._names.clear()
        self.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _opened(self) -> int:
        if self._descriptor < 0:
            self._count(1 + len(self._names))
            self._descriptor = open_beneath(self._root, self.path)
        return self._descriptor

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MAX_STEPS:
            raise NotFollowedError(SkipReason.SYMLINK_BROKEN, "the way is too long")
