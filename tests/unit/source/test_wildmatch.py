import pytest

from engine.source.wildmatch import BadPatternError, NamePattern, components_of


def matches(pattern: str, name: str, *, fold_case: bool = False) -> bool:
    (component,) = components_of(pattern, fold_case=fold_case)
    assert isinstance(component, NamePattern)
    return component.matches(name)


MATCHING = [
    ("foo", "foo"),
    ("*", ""),
    ("*", "a\nb"),
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


@pytest.mark.parametrize(
    ("pattern", "shape"),
    [
        ("a/b", "nn"),
        ("**/a", "*n"),
        ("a/**", "n*"),
        ("a/**/b", "n*n"),
        ("**/**/a", "*n"),
        ("a/***/b", "n*n"),
        ("a**/b", "nn"),
        ("a/**b", "nn"),
        ("**", "*"),
        (r"a\/b", "nn"),
        (r"**\/b", "*nn"),
        ("a[/]b", "n"),
    ],
)
def test_a_path_is_cut_at_its_slashes(pattern: str, shape: str) -> None:
    components = components_of(pattern)
    assert "".join("*" if component is None else "n" for component in components) == shape


@pytest.mark.parametrize("stars", [2, 20, 100])
def test_many_stars_cost_no_more_than_linear_time(stars: int) -> None:
    # To try all ways to match would take years.
    assert not matches("*a" * stars + "b", "a" * 255)
    assert not matches("*?a" * stars + "[b]", "a" * 255)


@pytest.mark.parametrize(
    ("pattern", "prefix", "inner", "suffix"),
    [
        ("foo*bar", "foo", "foo", "bar"),
        ("*needle*", "", "needle", ""),
        ("a[bc]de*", "a", "de", ""),
        ("?[ab]*", "", "", ""),
        (r"x\*y?*z", "x*y", "x*y", "z"),
    ],
)
def test_what_a_name_must_contain_is_known(
    pattern: str, prefix: str, inner: str, suffix: str
) -> None:
    (component,) = components_of(pattern)
    assert isinstance(component, NamePattern)
    assert (component.prefix, component.inner, component.suffix) == (prefix, inner, suffix)
