"""No secret of a known format survives, and nothing else about a text changes."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.source.secrets import redact
from tests.support.budget import examples
from tests.support.canaries import PLACES, TOKENS, drawing, private_key

_SEEDS = st.integers(0, 2**32)
_PEM = [f"-----{word} PRIVATE" + " KEY-----" for word in ("BEGIN", "END")]
_WORDS = ("def f(x):", "password", "token", "sk-", "ey" + "J", "\\n", "\r\n", "://", "abcdefgh" * 6)
_PIECES = st.sampled_from([*"\"'`\n\r\t =:.,_-@{}0Aé日", *_WORDS, *_PEM])
_TEXTS = st.lists(_PIECES | st.text(max_size=12), max_size=30).map("".join)
_BEFORE = st.sampled_from([*" \n\t\"'`=:([,>/", "\\n"])
_AFTER = st.sampled_from([*" \n\"'`)],;<", "\r\n", "\\n"])
_LINE_BREAK = re.compile(rb"\r\n|\r|\n")


def _shape(text: bytes) -> list[tuple[int, bytes]]:
    return [(match.start(), match.group()) for match in _LINE_BREAK.finditer(text)]


def _check(before: bytes) -> bytes:
    """Redact, and check what holds for any text."""
    after, count = redact(before)
    assert len(after) == len(before)
    assert _shape(after) == _shape(before)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert {new for _, new in changed} <= {ord("*")}
    assert bool(changed) == bool(count)
    assert redact(after) == (after, 0)
    return after


@settings(max_examples=examples(300))
@given(_TEXTS | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
def test_any_text_keeps_its_length_and_its_lines(text: str) -> None:
    _check(text.encode())


@settings(max_examples=examples(400))
@given(st.sampled_from(sorted(TOKENS)), _SEEDS, _TEXTS, _BEFORE, _AFTER, _TEXTS)
def test_no_token_survives(
    kind: str, seed: int, left: str, before: str, after: str, right: str
) -> None:
    token = TOKENS[kind](drawing(seed))
    # A letter right before a token would make it a part of a longer word.
    text = f"{left}{before}{token}{after}{right}"
    assert token.encode() not in _check(text.encode())


@settings(max_examples=examples(300))
@given(st.sampled_from(sorted(PLACES)), _SEEDS, _TEXTS, _TEXTS)
def test_no_value_of_a_secret_name_survives(kind: str, seed: int, left: str, right: str) -> None:
    template, canary = PLACES[kind]
    value = canary(drawing(seed))
    text = f"{left}\n{template % value}\n{right}"
    assert value.encode() not in _check(text.encode())


@settings(max_examples=examples(100))
@given(_SEEDS, st.integers(1, 30), st.sampled_from(["\n", "\r\n", "\\n", '\\n" +\n  "']), _TEXTS)
def test_no_line_of_a_private_key_survives(seed: int, lines: int, glue: str, left: str) -> None:
    block, body = private_key(drawing(seed), lines)
    blotted = _check(f"{left} {block.replace(chr(10), glue)} end".encode()).decode()
    assert not [line for line in body if line in blotted]
