"""What the finder leaves out before it looks, it would not have found: ranks and marks stay."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.browsing.typeahead import Match, Pathfinder
from tests.support.budget import examples

_BOUNDARY = "/_-. "

Span = tuple[int, int]


def folded(text: str) -> str:
    return "".join(each.lower()[0] for each in text.replace("ς", "\N{GREEK SMALL LETTER SIGMA}"))


def tier_of(path: str, words: list[str]) -> int | None:
    """Say how well the words stand in a path, one path at a time."""
    name, last = os.path.basename(path), words[-1]
    if not all(word in path for word in words):
        return None
    if len(words) == 1 and "/" in last:
        parts, wanted = path.split("/"), last.split("/")
        if path == last or (parts[-len(wanted) :] == wanted and len(parts) > len(wanted)):
            return 0
        if path.endswith(f"/{last}"):
            return 0
        return 1 if path.startswith(last) else 3
    if len(words) == 1 and name.startswith(last):
        return 0 if name == last else 1
    return 2 if last in name else 3


def marks_of(path: str, words: list[str]) -> tuple[Span, ...]:
    """Give where each word stands last."""
    marked: set[int] = set()
    for word in words:
        at = path.rfind(word)
        marked.update(range(at, at + len(word)))
    return joined(marked)


def scattered(path: str, letters: str) -> set[int] | None:
    """Give the places of letters in their order, as far behind as can be."""
    marked, end = set(), len(path)
    for letter in reversed(letters):
        end = path.rfind(letter, 0, end)
        if end < 0:
            return None
        marked.add(end)
    return marked


def joined(marked: set[int]) -> tuple[Span, ...]:
    starts = sorted(at for at in marked if at - 1 not in marked)
    ends = sorted(at + 1 for at in marked if at + 1 not in marked)
    return tuple(zip(starts, ends, strict=True))


def ladder(paths: list[str], typed: str, limit: int) -> list[Match]:
    """Rank by looking at each path."""
    words = folded(typed).split()
    in_order = sorted(paths, key=lambda path: (len(path), path))
    if not words:
        return [Match(5, len(path), path, ()) for path in in_order[:limit]]
    ranked, rest = [], []
    for path in in_order:
        lower = folded(path)
        tier = tier_of(lower, words)
        if tier is not None:
            ranked.append(Match(tier, len(path), path, marks_of(lower, words)))
        elif (marked := scattered(lower, "".join(words))) is not None:
            marks = joined(marked)
            inside = sum(at > 0 and lower[at - 1] not in _BOUNDARY for at, _ in marks)
            rest.append(Match(4, 4 * len(marks) + inside, path, marks))
    ranked.sort(key=lambda match: match.tier)
    rest.sort(key=lambda match: (match.cost, len(match.path), match.path))
    return [*ranked, *rest][:limit]


_NAMES = st.text("abAB1_.- ßİé😀\n\ufffd", min_size=1, max_size=6)
_PATHS = st.lists(st.lists(_NAMES, min_size=1, max_size=4).map("/".join), max_size=40)
_RARE = st.lists(_NAMES.map(lambda name: f"zq/{name}"), max_size=2)
_TYPED = st.text("abAz1_./ ßİé😀\0\ud800", max_size=6)


@settings(max_examples=examples(300))
@given(paths=_PATHS, rare=_RARE, typed=_TYPED, limit=st.sampled_from([1, 3, 100]))
def test_ranks_are_those_of_looking_at_each(
    paths: list[str], rare: list[str], typed: str, limit: int
) -> None:
    found = Pathfinder([*paths, *rare]).find(typed, limit)
    assert found == ladder([*paths, *rare], typed, limit)


@settings(max_examples=examples(100))
@given(paths=_PATHS, start=st.text("abA/._é\ufffd", max_size=5))
def test_what_is_below_is_what_begins_so(paths: list[str], start: str) -> None:
    held = Pathfinder(paths).paths
    assert list(held) == sorted(paths)
    wanted: dict[str, int] = {}
    for path in paths:
        if path.startswith(start):
            slash = path.find("/", len(start))
            each = path if slash < 0 else path[: slash + 1]
            wanted[each] = wanted.get(each, 0) + 1
    assert held.below(start) == wanted
