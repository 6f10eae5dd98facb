"""The few of git's settings that decide which files belong to a project.

Read: ``core.excludesFile``, ``core.ignoreCase`` and ``extensions.objectFormat`` from the user's
files and the repository's ``config``. Not read: ``include`` sections and the system's file.
"""

import os
import re
from dataclasses import dataclass
from typing import Final

from engine.config import git_user_files
from engine.source.git_files import read_regular

_MAX_CONFIG_BYTES: Final = 1 << 20
_SECTION: Final = re.compile(r'\s*\[([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(=|$|[#;])")
_VALUE_PIECE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"?|\\(.)|([#;].*)|([^"\\#;]+)')
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b"}
_TRUE: Final = frozenset({"true", "yes", "on", "1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSettings:
    """What git's settings say about a repository."""

    excludes_path: str  # absolute; the file may be missing
    excludes_label: str  # how to name it to the user
    excludes_is_users: bool  # the user's own settings name it, not the repository's
    ignores_case: bool
    hash_bytes: int  # 20 for SHA-1, 32 for SHA-256


def git_settings(top: str, common_dir: str | None) -> GitSettings:
    """Read the settings that hold in a repository; never raises.

    Args:
        top: The folder that relative paths in the settings start from.
        common_dir: The folder with the repository's ``config``; None outside of repositories.
    """
    user = git_user_files()
    values: dict[str, str] = {}
    for path in user.config_paths:
        values |= _values_in(path)
    excludes_path, label = user.ignore_path, "git's global ignore file"
    if "core.excludesfile" in values:
        excludes_path, label = values["core.excludesfile"], "core.excludesFile"
    own = _values_in(os.path.join(common_dir, "config")) if common_dir else {}
    if "core.excludesfile" in own:
        excludes_path, label = own["core.excludesfile"], "core.excludesFile"
    values |= own
    return GitSettings(
        excludes_path=os.path.join(top, os.path.expanduser(excludes_path)),
        excludes_label=label,
        excludes_is_users="core.excludesfile" not in own,
        ignores_case=values.get("core.ignorecase", "").lower() in _TRUE,
        hash_bytes=32 if values.get("extensions.objectformat", "").lower() == "sha256" else 20,
    )


def _values_in(path: str) -> dict[str, str]:
    data = read_regular(path, _MAX_CONFIG_BYTES, follow=True)
    return config_values(os.fsdecode(data)) if data is not None else {}


def config_values(text: str) -> dict[str, str]:
    """Read a configuration file: ``section.key`` or ``section.subsection.key`` to the last value.

    Sections and keys are in lower case. What cannot be read is left out.
    """
    values: dict[str, str] = {}
    section = ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        header = _SECTION.match(line)
        rest = line
        if header:
            section = header[1].lower() + (f".{header[2]}" if header[2] is not None else "")
            rest = line[header.end() :]
        key = _KEY.match(rest)
        if key and section:
            value = _value_of(rest[key.end() :]) if key[2] == "=" else "true"
            values[f"{section}.{key[1].lower()}"] = value
    return values


def _value_of(text: str) -> str:
    pieces: list[tuple[str, bool]] = []  # with whether it stood in quotes
    for quoted, escaped, comment, plain in _VALUE_PIECE.findall(text):
        if comment:
            break
        if plain:
            pieces.append((plain, False))
        elif escaped:
            pieces.append((_ESCAPES.get(escaped, escaped), True))
        else:
            pieces.append((re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted), True))
    if pieces and not pieces[0][1]:
        pieces[0] = (pieces[0][0].lstrip(), False)
    if pieces and not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0].rstrip(), False)
    return "".join(piece for piece, _ in pieces)
