import random

import pytest

from engine.source.wildmatch import Buckets, NamePattern, NameTable, Numbered, components_of


def numbered(*patterns: str) -> list[Numbered]:
    found = []
    for number, pattern in enumerate(patterns):
        (component,) = components_of(pattern)
        assert isinstance(component, NamePattern)
        found.append((number, component))
    return found


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("foo", 5),
        ("foo.py", 3),
        ("bar.py", 1),
        ("bar.tar.gz", 4),
        (".py", 1),
        ("py", -1),
        ("fo.", -1),
        ("", -1),
    ],
)
def test_the_last_match_counts(name: str, number: int) -> None:
    table = NameTable(numbered("foo", "*.py", "*.rb", "foo*", "*.tar.gz", "foo"))
    assert table.last(name) == number


def test_a_mere_star_hides_what_came_before() -> None:
    table = NameTable(numbered("foo", "b*r", "*", "*.py"))
    assert [table.last(name) for name in ("foo", "bar", "x", "a.py")] == [2, 2, 2, 3]


PIECES = ["a", "b", "ab", "foo", "needle", ".x", "*", "?", "[ab]", "[!a]", "*"]


def test_hundreds_of_patterns_give_what_each_alone_gives() -> None:
    chance = random.Random(1)
    patterns = ["".join(chance.choices(PIECES, k=chance.randint(1, 4))) for _ in range(600)]
    entries = numbered(*(pattern.replace("**", "*") for pattern in patterns))
    table = NameTable(entries)
    buckets = Buckets(entries)
    for _ in range(300):
        name = "".join(chance.choices(["a", "b", "foo", "needle", ".x", "z"], k=3))
        expected = [number for number, pattern in entries if pattern.matches(name)]
        assert table.last(name) == max(expected, default=-1)
        assert buckets.last(name, -1) == max(expected, default=-1)
        assert sorted(number for number, _ in buckets.matching(name)) == expected


@pytest.mark.parametrize("form", ["n{}", "*.e{}", "foo{}*", "*foo{}*", "a*_{}.txt", "*{}"])
def test_of_ten_thousand_patterns_few_are_tried(form: str) -> None:
    entries = numbered(*(form.format(number) for number in range(10_000)))
    table = NameTable(entries)
    for number in range(0, 1000, 7):
        name = f"foo{number}_{number}.txt"
        tried = list(table._buckets._groups(name)) if table._buckets else []
        assert len(tried) <= 40
        # The larger groups are tried all at once.
        assert all(len(group._entries) <= 100 for group in tried if not group._all)
        assert table.last(name) == max(
            (number for number, pattern in entries if pattern.matches(name)), default=-1
        )
