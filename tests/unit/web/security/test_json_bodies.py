"""What JSON the server takes in: nothing that its parser would chew on for long."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import PARSE_ERROR

from engine.memory_records import MAX_CONTEXT_BYTES
from web.errors import Refusal
from web.mcp.jsonrpc import check_message
from web.security.json_bodies import MOST_DEPTH, MOST_TOKENS, check_json, excess_of

_JSON = [b"application/json"]
_CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":%s}}'
_MIB = 1 << 20


@pytest.mark.parametrize("piece", [b"[]", b"{}", b"1", b'""', b'{"a":1}', b"[" * 60 + b"]" * 60])
def test_no_body_has_more_values_than_an_answer_needs(piece: bytes) -> None:
    body = b"[%s]" % b",".join([piece] * (_MIB // (len(piece) + 1)))
    with pytest.raises(Refusal, match="more than"):
        check_json(body, _JSON)
    invalid = check_message(_CALL % body)
    assert invalid
    assert invalid.code == PARSE_ERROR
    assert "more than" in invalid.reason


@pytest.mark.parametrize("piece", [b"[]", b'""', b"1", b"[[]]"])
def test_the_largest_context_of_a_note_is_taken_in(piece: bytes) -> None:
    pieces = [piece] * ((MAX_CONTEXT_BYTES - 8) // (len(piece) + 1))
    context = b'{"a":[%s]}' % b",".join(pieces)
    check_json(b'{"summary":"s","context":%s}' % context, _JSON)
    assert check_message(_CALL % context) is None


@pytest.mark.parametrize("text", ["x", "[", ",", '"', "\\", "é", "\n"])
def test_a_long_text_is_one_token(text: str) -> None:
    body = json.dumps({"description": text * _MIB}).encode()
    check_json(body, _JSON)
    assert check_message(_CALL % body) is None


def test_levels_are_counted_outside_of_texts() -> None:
    assert excess_of(b"[" * MOST_DEPTH + b"]" * MOST_DEPTH) == ""
    assert "nested" in excess_of(b"[" * (MOST_DEPTH + 1))
    assert "nested" in excess_of(b'{"a":' * (MOST_DEPTH + 1))
    assert excess_of(b'["%s"]' % (b"[" * 1000)) == ""
    assert excess_of(b'["\\"%s"]' % (b"[" * 1000)) == ""
    assert "more than" in excess_of(b"[]," * (MOST_TOKENS // 3 + 1))


@given(st.binary(max_size=60) | st.text('"\\[{]},a\n', max_size=60).map(str.encode))
def test_texts_end_where_a_simpler_pattern_says(body: bytes) -> None:
    simple = re.sub(rb'(?s)"(?:[^"\\]|\\.)*+(?:"|$)', b"", body)
    deepest = depth = 0
    for byte in simple:
        depth += (byte in b"[{") - (byte in b"]}")
        deepest = max(deepest, depth)
    assert excess_of(b"[" * (MOST_DEPTH - deepest) + body) == ""
    assert excess_of(b"[" * (MOST_DEPTH - deepest + 1) + body) != ""
