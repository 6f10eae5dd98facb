import random

import pytest

from engine.source.wildmatch import (
    BYTES,
    CHARACTERS,
    BadPatternError,
    Pattern,
    PatternSet,
    components_of,
)


def last_of(patterns: list[str], path: str, *, fold_case: bool = False) -> int:
    """Give the number of the last pattern, anchored at the root, that matches a path."""
    read = [Pattern(components_of(pattern, fold_case=fold_case)) for pattern in patterns]
    folder, slash, name = f"/{path}".encode().rpartition(b"/")
    return PatternSet(read, CHARACTERS).last(folder + slash, name)


def matches(pattern: str, name: str, *, fold_case: bool = False) -> bool:
    return last_of([pattern], name, fold_case=fold_case) == 0


MATCHING = [
    ("foo", "foo"),
    ("*", "a\nb"),
    ("*", "a"),
    ("?", "\n"),
    ("f*o", "fo"),
    ("f*o", "fxxo"),
    ("*.tar.*", "a.tar.gz"),
    ("*a*b*c", "xaybzc"),
    ("a**b", "aXb"),
    ("a***", "a"),
    (r"\*", "*"),
    (r"\a", "a"),
    (r"a\ b", "a b"),
    ("[abc]", "b"),
    ("[!abc]", "d"),
    ("[^abc]", "d"),
    ("[a-c]x", "bx"),
    ("[]]", "]"),
    ("[!]]", "a"),
    ("[]-a]", "^"),
    ("[b-a]", "b"),
    ("[a-]", "-"),
    ("[-a]", "-"),
    ("[--0]", "."),
    (r"[\]]", "]"),
    (r"[A-\]]", "Z"),
    (r"[\-a]", "-"),
    (r"[\a-\c]", "b"),
    ("[[:digit:]]", "7"),
    ("[[:alpha:][:digit:]_]", "_"),
    ("[^[:space:]]", "x"),
    ("[[:punct:]]", "~"),
    ("[[:xdigit:]]", "F"),
    ("[[a]", "["),
    ("[[:a]", ":"),
    ("[A-[:x]", "Z"),
    ("[[:alpha:]-z]", "-"),
    ("[.]x", ".x"),
    ("[&&]", "&"),
    ("[a||b]", "|"),
    ("é?", "éa"),
    ("x[\x80-\xff]", "x\xe9"),
    ("x[!\n]", "x\t"),
    ("[[:cntrl:]]", "\n"),
    ("a/b", "a/b"),
    ("**/a", "a"),
    ("**/a", "x/y/a"),
    ("a/**", "a/x/y"),
    ("a/**/b", "a/b"),
    ("a/**/b", "a/x\n/y/b"),
    ("**/**/a", "x/a"),
    ("a/***/b", "a/x/y/b"),
    ("a**/b", "ax/b"),
    ("a/**b", "a/xb"),
    ("**", "a/b"),
    (r"a\/b", "a/b"),
    (r"**\/b", "a/x/b"),
    ("*/*b", "a/b"),
    ("**/*[!a]", "a/b"),
]
NOT_MATCHING = [
    ("foo", "Foo"),
    ("foo", "foo2"),
    ("?", ""),
    ("?", "ab"),
    ("f*o", "fxxx"),
    ("*.py", "a.pyc"),
    ("a*a", "a"),
    ("*a*b*c", "cba"),
    (r"\*", "x"),
    ("[abc]", "abc"),
    ("[!abc]", "a"),
    ("[a-c]", "-"),
    ("[[:digit:]]", "x"),
    ("[[:alpha:]]", "é"),
    ("[[:upper:]]", "a"),
    (".*", "x"),
    ("a.c", "abc"),
    ("a+", "aa"),
    ("(a)", "a"),
    ("a|b", "a"),
    ("foo$", "foo"),
    ("?", "/"),
    ("a?b", "a/b"),
    ("a[/]b", "a/b"),
    ("a[.-0]b", "a/b"),
    ("a[!x]b", "a/b"),
    ("a[^[:digit:]]b", "a/b"),
    ("*", "a/b"),
    ("a**/b", "a/x/b"),
    ("a/**", "a"),
    ("a/**/b", "ab"),
    (r"**\/b", "b"),
    ("**/*b/c", "b/x/c"),
]
BAD = ["", "a//b", "a/", "/a", "\\", "a\\", "[", "[a", "[!", "[]", "[a-", "[[:foo:]]", "[[::]]"]
BAD += ["[[:alpha:]", "[a\\", "a[b/c", "x" * 256, "?" * 256]


@pytest.mark.parametrize(("pattern", "name"), MATCHING)
def test_a_pattern_matches(pattern: str, name: str) -> None:
    assert matches(pattern, name)


@pytest.mark.parametrize(("pattern", "name"), NOT_MATCHING)
def test_a_pattern_does_not_match(pattern: str, name: str) -> None:
    assert not matches(pattern, name)


@pytest.mark.parametrize("pattern", BAD)
def test_what_can_match_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(BadPatternError):
        components_of(pattern)


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("README", "readme", True),
        ("*.PY", "a.py", True),
        ("[A-C]", "b", True),
        ("[!A-C]", "b", False),
        ("É", "é", False),
    ],
)
def test_case_can_be_folded_for_ascii(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name, fold_case=True) == expected


@pytest.mark.parametrize("stars", [2, 20, 100])
def test_many_stars_cost_no_more_than_linear_time(stars: int) -> None:
    # To try all ways to match would take years.
    assert not matches("*a" * stars + "b", "a" * 255)
    assert not matches("*?a" * stars + "[b]", "a" * 255)


def test_the_last_match_counts() -> None:
    patterns = ["foo", "**/*.py", "**/*.rb", "**/foo*", "**/*.tar.gz", "**/foo"]
    names = ["foo", "foo.py", "bar.py", "bar.tar.gz", ".py", "py", "fo."]
    assert [last_of(patterns, name) for name in names] == [5, 3, 1, 4, 1, -1, -1]


PIECES = ["a", "b", "ab", "foo", "needle", ".x", "*", "?", "[ab]", "[!a]", "*", "/", "**/"]


@pytest.mark.parametrize("count", [10, 6_000])  # one set of expressions and several
def test_many_patterns_give_what_each_alone_gives(count: int) -> None:
    chance = random.Random(1)
    texts = {"".join(chance.choices(PIECES, k=chance.randint(1, 5))) for _ in range(3 * count)}
    patterns = []
    for text in sorted(texts)[:count]:
        try:
            patterns.append(Pattern(components_of(text)))
        except BadPatternError:
            continue
    together = PatternSet(patterns, BYTES)
    alone = [PatternSet([pattern], BYTES) for pattern in patterns]
    for _ in range(50):
        folder = "/" + "".join(chance.choices(["a/", "b/", "foo/", "x/"], k=chance.randint(0, 2)))
        name = "".join(chance.choices(["a", "b", "foo", "needle", ".x", "z"], k=3))
        place = (folder.encode(), name.encode())
        found = [number for number, each in enumerate(alone) if not each.last(*place)]
        assert together.last(*place) == max(found, default=-1)


@pytest.mark.parametrize(
    ("pattern", "named", "reached"),
    [
        ("vendor/lib/**", ["vendor", "vendor/lib"], ["vendor/lib/x/y"]),
        ("a/**/b/c", ["a", "a/b", "a/x/b"], ["a/x"]),
        ("**/*.c", [], ["a", "a/b"]),
        ("*/x", [], ["a"]),
        ("*/x/y", ["a/x"], ["a"]),
        ("a/b*/?/c", ["a", "a/b", "a/bc"], ["a/b/x"]),
        ("name", [], []),
    ],
)
def test_what_leads_to_a_match_is_known(pattern: str, named: list[str], reached: list[str]) -> None:
    patterns = PatternSet([Pattern(components_of(pattern))], CHARACTERS)
    for folder in ["a", "b", "a/b", "a/x", "a/bc", "a/b/x", "a/x/b", "vendor", "vendor/lib"]:
        assert bool(patterns.naming(f"/{folder}/".encode())) == (folder in named)
    assert all(patterns.reaches_into(f"/{folder}/".encode()) for folder in named + reached)
    assert patterns.reaches_into(b"/other/") == pattern.startswith("*")


def test_a_pattern_as_long_as_a_path_may_be_is_no_matter() -> None:
    pattern = "?/" * 32_000 + "x"
    patterns = PatternSet([Pattern(components_of(pattern)), Pattern(components_of("*x"))], BYTES)
    assert patterns.last(b"/" + b"a/" * 32_000, b"x") == 0
    assert patterns.last(b"/", b"ax") == 1


def test_names_that_are_not_utf_8_have_characters_too() -> None:
    name = "x\udcff".encode("utf-8", "surrogatepass")
    for pattern in ("x?", "x\udcff", "x[\udc80-\udcff]", "x[!a]"):
        assert PatternSet([Pattern(components_of(pattern))], CHARACTERS).last(b"/", name) == 0
    assert PatternSet([Pattern(components_of("x??"))], CHARACTERS).last(b"/", name) < 0
