"""What is cut from an answer that is longer than its budget: nothing that is wrong when cut."""

import json
from typing import Any

import pytest

from engine.records import bytes_within
from web.mcp.bounds import sent
from web.mcp.tool import Answer

_CONTENT: dict[str, Any] = {
    "checkpoints": [
        {
            "id": "0b7c1c1e-7f0e-4c39-9d7a-0f5f0b8d3c11",
            "summary": "s" * 300,
            "description": "d" * 300,
            "project_path": "/home/somebody/src/a-project-of-some-name",
            "created_at": "2026-11-27T10:11:12Z",
            "tags": ["decision"],
        }
    ]
    * 3,
    "logs": {"operation_log": "/home/somebody/.local/share/codecairn/logs/verify-2026-11-27.log"},
    "projects": ["/home/somebody/src/" + "a" * 80, "/b"],
    "notes": ["n" * 200, "texts are cut"],
    "next_cursor": "c" * 40,
}


@pytest.mark.parametrize("max_tokens", [100, 110, 130, 200, 300, 400, 10_000])
def test_times_paths_and_notes_are_whole_or_left_out(max_tokens: int) -> None:
    answer = Answer(content=_CONTENT, text="t" * 5000)
    content: dict[str, Any] = sent(answer, max_tokens).result.structured_content or {}
    assert len(json.dumps(content, separators=(",", ":"))) <= bytes_within(max_tokens)
    [whole, *_] = _CONTENT["checkpoints"]
    for each in content["checkpoints"]:
        for name in ("id", "project_path", "created_at"):
            assert each.get(name, whole[name]) == whole[name]
        assert whole["summary"].startswith(each["summary"].rstrip("…"))
    log = content["logs"].get("operation_log")
    assert log in (None, _CONTENT["logs"]["operation_log"])
    for name in ("notes", "projects"):
        assert set(content[name]) <= set(_CONTENT[name])
    assert content["next_cursor"] == _CONTENT["next_cursor"]
    assert content.get("truncated", False) is (max_tokens < 10_000)
