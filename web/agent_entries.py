"""What entries of agents' configurations have in common: name, command, variables, and TOML."""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping

import platformdirs

NAME = "codecairn"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class UneditableError(ValueError):
    """The text cannot be edited safely; the message has the reason."""


def server_command() -> list[str]:
    """Return the command that starts a server for one agent."""
    called = os.path.abspath(sys.argv[0])
    if os.path.basename(called) == "cairn" and os.access(called, os.X_OK):
        return [called, "mcp"]
    found = shutil.which("cairn")
    return [found, "mcp"] if found else [sys.executable, "-m", "web.cli.main", "mcp"]


def server_variables(data_dir: str) -> dict[str, str]:
    """Return the variables that such a server needs to use a data directory."""
    usual = os.path.abspath(platformdirs.user_data_dir("codecairn"))
    return {} if data_dir == usual else {"CAIRN_HOME": data_dir}


def toml_entry(section: str, name: str, entry: Mapping[str, object]) -> str:
    """Return an entry as a table of TOML.

    Raises:
        UneditableError: It has a value of another kind than texts, numbers, lists and tables.
    """
    lines = [f"[{section}.{name}]"]
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _toml_text(key)


def _toml_text(text: str) -> str:
    """Return a text in quotes: as JSON has it, but for DEL and pairs of surrogates.

    In a text that is not UTF-8, lone surrogates are escaped, which readers of TOML refuse.
    """
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return quoted.encode("utf-8", "backslashreplace").decode()


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_toml_key(key)} = {_toml_value(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, int | float):
        return json.dumps(value)
    raise UneditableError(f"the entry contains a {type(value).__name__}")
