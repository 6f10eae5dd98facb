"""Brackets are paired as a stack pairs them, whatever a text lacks."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.references.scopes import Brackets
from engine.syntax.references import Marks

_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}

#: Well-formed code, and any other.
_NESTED = st.recursive(
    st.sampled_from(["", "x", "'"]),
    lambda inner: st.builds(
        lambda opening, parts: opening + "".join(parts) + _CLOSED_BY[opening],
        st.sampled_from("([{"),
        st.lists(inner, max_size=4),
    ),
    max_leaves=20,
)
_ANY = st.text("()[]{}x'", max_size=30)


def _expected(text: str) -> tuple[list[int], list[int], list[int]]:
    opens: list[int] = []
    ends: list[int] = []
    parents: list[int] = []
    stack: list[int] = []
    for at, char in enumerate(text):
        if char in _CLOSED_BY:
            parents.append(stack[-1] if stack else -1)
            stack.append(len(opens))
            opens.append(at)
            ends.append(len(text))
        elif char in _CLOSED_BY.values():
            while stack:
                place = stack.pop()
                ends[place] = at
                if _CLOSED_BY[text[opens[place]]] == char:
                    break
    return opens, ends, parents


def _literals(text: str) -> list[tuple[int, int]]:
    """Return the stretches between quotes."""
    at = [place for place, char in enumerate(text) if char == "'"]
    return [(start, end + 1) for start, end in zip(at[::2], at[1::2], strict=False)]


def _marks(stretches: list[tuple[int, int]]) -> Marks:
    bounds = [(start << 3 | 6, end << 3 | 5) for start, end in stretches]
    return Marks(sorted(mark for each in bounds for mark in each))


@given(st.one_of(st.lists(_NESTED, max_size=5).map("".join), _ANY))
@settings(deadline=None)
def test_brackets_are_paired_as_by_a_stack(text: str) -> None:
    stretches = _literals(text)
    code = list(text)
    for start, end in stretches:
        code[start:end] = " " * (end - start)
    found = Brackets(text.encode(), _marks(stretches))
    assert (list(found.opens), list(found.ends), list(found.parents)) == _expected("".join(code))
