"""Entries of agents' configurations as TOML."""

import tomllib

import pytest

from web.agent_entries import toml_entry


@pytest.mark.parametrize("text", ["a/\U0001f600/b", "a\x7fb", "\x00\x1f", 'ä "b" \\ \n', ""])
def test_any_text_can_be_read_again(text: str) -> None:
    entry = {"command": text, "args": [text, "mcp"], "env": {"CAIRN_HOME": text}, "x y": {text: 1}}
    found = tomllib.loads(toml_entry("mcp_servers", "codecairn", entry))
    assert found == {"mcp_servers": {"codecairn": entry}}
