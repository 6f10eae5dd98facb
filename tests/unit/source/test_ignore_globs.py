from collections.abc import Sequence

import pytest

from engine.errors import InvalidInputError
from engine.source.ignore import MAX_PATTERN_CHARACTERS, MAX_PATTERNS, Globs


def included(pattern: str, path: str, *, is_dir: bool = False) -> bool:
    return Globs.compile([pattern], field="include_patterns").match(path, is_dir) is not None


def excluded(pattern: str, path: str, *, is_dir: bool = False) -> bool:
    return Globs.compile([pattern], field="exclude_patterns").match(path, is_dir) is not None


EITHER = [
    ("*.go", "main.go", True),
    ("*.go", "pkg/deep/main.go", True),
    ("*.go", "main.got", False),
    ("main.go", "cmd/main.go", True),
    ("pkg/*/service.go", "pkg/a/service.go", True),
    ("pkg/*/service.go", "pkg/a/b/service.go", False),
    ("pkg/*/service.go", "x/pkg/a/service.go", False),
    ("/main.go", "main.go", True),
    ("/main.go", "cmd/main.go", False),
    ("./main.go", "main.go", True),
    ("./*.go", "cmd/main.go", False),
    ("**/*.go", "main.go", True),
    ("**/*.go", "a/b/main.go", True),
    ("src/**", "src/a/b.c", True),
    ("src/**", "lib/src/a/b.c", True),
    ("/src/**", "lib/src/a/b.c", False),
    ("a/src/**", "a/src/b.c", True),
    ("a/src/**", "x/a/src/b.c", False),
    ("src/**/test.c", "src/test.c", True),
    ("src/**/test.c", "src/a/b/test.c", True),
    ("docs", "docs/a.md", True),
    ("docs/", "docs/a.md", True),
    ("docs/", "x/docs/a.md", True),
    ("docs/", "docs", False),
    ("?.c", "é.c", True),
    ("[ab].c", "b.c", True),
    ("{a,b}.c", "a.c", False),
    ("!a.c", "!a.c", True),
    ("a b", "a b", True),
    ("a ", "a", False),
    ("#x", "#x", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), EITHER)
def test_a_glob_means_the_same_in_either_list(pattern: str, path: str, expected: bool) -> None:
    assert included(pattern, path) == expected
    assert excluded(pattern, path) == expected


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("node_modules/**", "a/node_modules/b/c.js"),
        ("*.egg-info", "x.egg-info/PKG-INFO"),
        ("gen*", "generated/a.py"),
    ],
)
def test_an_excluded_folder_takes_all_in_it_along(pattern: str, path: str) -> None:
    assert excluded(pattern, path)


def test_an_include_glob_with_wildcards_is_about_files() -> None:
    assert not included("*.py", "x.py/data.txt")
    assert included("*.py", "x.py/data.py")
    assert included("*.py/", "x.py/data.txt")


def test_the_first_glob_that_matches_is_named() -> None:
    globs = Globs.compile(["*.md", "docs/**", "README*"], field="exclude_patterns")
    assert globs.match("README.md", False) == "*.md"
    assert globs.match("docs/a.rst", False) == "docs/**"
    assert globs.match("README.rst", False) == "README*"
    assert globs.match("a.c", False) is None


def test_a_folder_itself_is_matched() -> None:
    assert excluded("vendor", "vendor", is_dir=True)
    assert excluded("vendor/", "a/vendor", is_dir=True)
    assert not excluded("vendor/**", "vendor.go", is_dir=True)


BAD: list[Sequence[str]] = [
    ["[invalid"],
    ["*.go", "[invalid"],
    [""],
    ["a\0b"],
    ["x" * (MAX_PATTERN_CHARACTERS + 1)],
    ["\\"],
    ["[[:nope:]]"],
    ["a//b"],
    ["/"],
]


@pytest.mark.parametrize("field", ["include_patterns", "exclude_patterns"])
@pytest.mark.parametrize("patterns", BAD)
def test_a_bad_glob_is_named(field: str, patterns: Sequence[str]) -> None:
    with pytest.raises(InvalidInputError, match=f"^invalid {field[:7]} pattern: '") as caught:
        Globs.compile(patterns, field=field)
    assert caught.value.details == {"field": field, "pattern": patterns[-1]}
    assert caught.value.message == f"invalid {field[:7]} pattern"
    assert len(str(caught.value)) < 300


def test_too_many_globs_are_refused() -> None:
    assert len(Globs.compile(["*"] * MAX_PATTERNS, field="include_patterns")) == MAX_PATTERNS
    with pytest.raises(InvalidInputError) as caught:
        Globs.compile(["*"] * (MAX_PATTERNS + 1), field="include_patterns")
    assert caught.value.details == {"field": "include_patterns"}


@pytest.mark.parametrize(
    "pattern", ["/".join(["a", "**"] * 11) + "/c", "**/*a/" * 12 + "c", "*a" * 120 + "b"]
)
def test_a_hostile_glob_is_quick(pattern: str) -> None:
    globs = Globs.compile([pattern], field="include_patterns")
    # To try all ways to match would take years.
    assert globs.match("/".join(["a"] * 60) + "/" + "a" * 200, False) is None
