"""What speaks against indexing a folder.

Some folders are never indexed: those of the system that hold no files, and CodeCairn's own data,
which each run would change again. Others hardly anybody means, such as a whole home directory: they
are indexed when the user confirms it. A folder that lies in or around a project is told.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from engine.errors import InvalidPathError, UnconfirmedFolderError
from engine.record_class import record
from engine.records import display_path
from engine.roots import real_path

#: Where the system shows itself as files.
_NO_FILES: Final = ("/proc", "/sys", "/dev")
_SETTINGS: Final = ("/etc", "/private/etc")
_HOME: Final = re.compile(r"/root|/(?:home|Users)(?:/[^/]+)?")
_KEYS: Final = frozenset(
    (".ssh", ".gnupg", ".pki", ".aws", ".azure", ".kube", ".docker", ".password-store", ".keychain")
)
_MOST_NAMED: Final = 3


@record
class FolderCheck:
    """What speaks against indexing a folder; each reason is a sentence without a full stop."""

    refusal: str = ""  # why it is never indexed
    doubt: str = ""  # why it is indexed only when the user confirms it
    overlap: str = ""  # which projects it lies in or around; asked about where a person can answer

    @property
    def question(self) -> str:
        """What to ask a person about; empty when there is nothing to ask."""
        return "; ".join(filter(None, (self.doubt, self.overlap)))


def check_folder(root: str, data_dir: Path, projects: Iterable[str] = ()) -> FolderCheck:
    """Return what speaks against indexing a folder.

    Args:
        root: Its absolute path without links.
        data_dir: Where indexes live.
        projects: The roots of other projects.
    """
    shown = display_path(root)
    if any(_is_within(root, each) for each in _NO_FILES):
        return FolderCheck(refusal=f"{shown} shows the state of the system and holds no files")
    if _is_within(root, real_path(data_dir)):
        return FolderCheck(refusal=f"{shown} is in the data directory of CodeCairn itself")
    return FolderCheck(doubt=_doubt_of(root, shown), overlap=_overlap_of(root, projects))


def require_permission(root: str, data_dir: Path, *, path: str, is_confirmed: bool) -> None:
    """Make sure that a folder may be indexed.

    Args:
        root: Its absolute path without links.
        data_dir: Where indexes live.
        path: As it was given, for the error.
        is_confirmed: Whether the user confirms it, or has done so before.

    Raises:
        InvalidPathError: It is never indexed.
        UnconfirmedFolderError: It is indexed only when confirmed.
    """
    found = check_folder(root, data_dir)
    if found.refusal:
        raise InvalidPathError(
            found.refusal, hint="name a folder of source code", field="path", path=path
        )
    if found.doubt and not is_confirmed:
        raise UnconfirmedFolderError(
            found.doubt,
            hint="name a folder of source code, or confirm it with --yes",
            field="path",
            path=path,
        )


def _doubt_of(root: str, shown: str) -> str:
    if root == "/":
        return "/ is the whole disk"
    if root in _SETTINGS:
        return f"{shown} holds the settings of the system, including passwords"
    if root == real_path(os.path.expanduser("~")) or _HOME.fullmatch(root):
        return f"{shown} is a whole home directory, with all that is private in it"
    keys = next((part for part in root.split("/") if part in _KEYS), None)
    return f"{shown} holds keys or credentials ({keys})" if keys else ""


def _overlap_of(root: str, projects: Iterable[str]) -> str:
    others = [each for each in projects if each != root]
    outer = [each for each in others if _is_within(root, each)]
    if outer:
        return f"it lies in {_named(outer)}, which is indexed already: its files are indexed twice"
    inner = [each for each in others if _is_within(each, root)]
    if inner:
        is_one = len(inner) == 1
        verb, whose = ("is", "its files are") if is_one else ("are", "their files are")
        return f"it contains {_named(inner)}, which {verb} indexed already: {whose} indexed twice"
    return ""


def _named(roots: list[str]) -> str:
    shown = [display_path(each) for each in sorted(roots)[:_MOST_NAMED]]
    more = len(roots) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
