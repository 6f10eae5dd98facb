"""What the style sheet of results asks of a browser for each answer."""

import re
from pathlib import Path

_SHEET = Path(__file__).resolve().parents[4] / "static/search.css"


def test_no_rule_asks_what_a_result_holds() -> None:
    """With ``:has()`` on parts of results a browser styled each element several times an answer."""
    anchors = re.findall(r"([\w.#-]+)(?::not\()?:has\(", _SHEET.read_text("utf-8"))
    assert set(anchors) == {".search-page", "main", ".summary", ".search-body"}
