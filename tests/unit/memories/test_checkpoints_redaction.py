"""Secrets are blotted out of every part of a memory."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memories.checkpoints import redacted
from engine.memories.limits import check_memory
from engine.memory_records import NewMemory
from tests.support.canaries import PLACES, TOKENS, drawing

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _TEXT,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(_TEXT, inside, max_size=3),
    max_leaves=6,
)


_MADE_UP = {kind: ("%s", make) for kind, make in TOKENS.items()} | PLACES


@pytest.mark.parametrize("kind", _MADE_UP)
def test_a_secret_is_nowhere(kind: str) -> None:
    pattern, make = _MADE_UP[kind]
    secret = make(drawing(11))
    text = pattern.replace("%s", secret)
    clean = redacted(
        NewMemory(
            summary=text.strip(),
            description=f"before\n{text}\nafter",
            context={"note": text, "deep": [{"again": [text]}]},
        )
    )
    left = json.dumps([clean.summary, clean.description, dict(clean.context)])
    assert json.dumps(secret)[1:-1] not in left
    assert clean.description.startswith("before\n")
    assert clean.description.endswith("\nafter")


def test_a_secret_is_known_by_its_key() -> None:
    clean = redacted(
        NewMemory(
            summary="s",
            context={
                "password": "Tr0ub4dor&3xq",
                "inner": {"api_key": ["q9w8e7r6t5y4u3i2o1p0aZ"]},
                "port": 5432,
                "colour": "Tr0ub4dor&3xq",
            },
        )
    )
    assert clean.context == {
        "password": "*" * 13,
        "inner": {"api_key": ["*" * 22]},
        "port": 5432,
        "colour": "Tr0ub4dor&3xq",
    }


@settings(max_examples=150)
@given(summary=_TEXT, context=st.dictionaries(_TEXT, _VALUE, max_size=3))
def test_what_is_left_can_be_kept_and_has_nothing_more_to_blot_out(
    summary: str, context: dict[str, object]
) -> None:
    new = NewMemory(summary=f"s{summary}", description=summary, context=context)
    check_memory(new)
    clean = redacted(new)
    check_memory(clean)
    assert redacted(clean) == clean
