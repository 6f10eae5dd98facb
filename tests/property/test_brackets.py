"""Brackets are paired as a stack pairs them, whatever a text lacks."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.references.bracket_arrays import paired
from engine.references.brackets import Brackets, paired_by_stack
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


def _is_unpaired(code: str) -> bool:
    """Return whether a bracket lacks the other one, or has a wrong one."""
    stack: list[str] = []
    for char in code:
        if char in _CLOSED_BY:
            stack.append(_CLOSED_BY[char])
        elif char in _CLOSED_BY.values() and (not stack or stack.pop() != char):
            return True
    return bool(stack)


@given(st.one_of(st.lists(_NESTED, max_size=5).map("".join), _ANY))
@settings(deadline=None)
def test_brackets_are_paired_as_by_a_stack(text: str) -> None:
    stretches = _literals(text)
    code = list(text)
    for start, end in stretches:
        code[start:end] = " " * (end - start)
    given_text, marks, expected = text.encode(), _marks(stretches), _expected("".join(code))
    found = Brackets(given_text, marks)
    ways = [(found.opens, found.ends, found.parents), paired_by_stack(given_text, marks)]
    by_arrays = paired(given_text, marks)
    assert by_arrays or _is_unpaired("".join(code))
    for pairs in (*ways, by_arrays):
        assert not pairs or tuple(map(list, pairs)) == expected
