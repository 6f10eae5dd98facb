"""Globs and ignore files that are meant to make a matcher slow: read fast, or refused plainly."""

import time
from collections.abc import Callable

import pytest

from engine.errors import InvalidInputError
from engine.source.ignore import Globs, IgnoreChain, IgnoreFile, IgnoreRules, match_key
from tests.support.hostile.ignore_rules import RULES

#: A glob, a path that it matches, and one that it nearly matches.
GLOBS = {
    "eleven double stars": ("a/**/" + "b/**/" * 11 + "c", "a/" + "b/" * 11 + "c", "a/" + "b/" * 60),
    "double stars alone": ("**/" * 1_000 + "x", "a/b/x", "a/b/y"),
    "stars and letters": ("*a" * 100 + "*b", "a" * 120 + "b", "a" * 254),
    "stars alone": ("*" * 4_000 + "b", "a" * 200 + "b", "a" * 250),
    "question marks and stars": ("*?" * 100 + "b", "a" * 200 + "b", "a" * 250),
    "classes and stars": ("*[a-y]" * 80 + "z", "a" * 200 + "z", "a" * 250),
    "folders of stars": ("*a*/" * 60 + "x", "aaa/" * 60 + "x", "aaa/" * 60 + "y"),
    "double stars and stars": ("**/*a*/" * 40 + "x", "aa/" * 60 + "x", "aa/" * 60 + "y"),
    "a class of every letter": ("[" + "a-z" * 500 + "]x", "qx", "qy"),
    "nested braces": ("{a,{b,{c,{d}}}}" * 15, "{a,{b,{c,{d}}}}" * 15, "abcd" * 15),
}
REFUSED = {
    "open class": "[" * 4_000,
    "escape at the end": "a" * 50 + "\\",
    "unknown class": "[[:nope:]]",
    "longer than any": "a" * 5_000,
    "longer than a name": "?" * 300,
    "empty folders": "a//b",
    "nothing": "",
    "nul": "a\0b",
}
_NAMES = [f"file{number}_name.py" for number in range(1_000)]
_PATHS = 20
_LIMIT_MS = 100


@pytest.mark.parametrize("name", GLOBS)
def test_a_glob_matches_what_it_says(name: str) -> None:
    glob, path, other = GLOBS[name]
    globs = Globs.compile((glob,), field="exclude_patterns")
    assert globs.match(path, is_dir=False) == glob
    assert globs.match(other, is_dir=False) is None


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_match_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        Globs.compile((REFUSED[name],), field="exclude_patterns")
    assert refusal.value.details["pattern"] == REFUSED[name]
    assert len(refusal.value.message) < 300


def milliseconds_of(work: Callable[[], object]) -> float:
    """Give the CPU time of something, the least of three tries."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times) * 1e3


def glob_work(glob: str, path: str, other: str) -> Callable[[], object]:
    def work() -> None:
        globs = Globs.compile((glob,), field="exclude_patterns")
        for _ in range(_PATHS // 2):
            globs.match(path, is_dir=False)
            globs.match(other, is_dir=False)

    return work


def ignore_work(data: bytes) -> Callable[[], object]:
    chain = IgnoreChain().with_files([IgnoreFile(IgnoreRules(data), ".gitignore")])
    return lambda: [chain.of_file(match_key(name)) for name in _NAMES]


@pytest.mark.soak
def test_how_long_they_take() -> None:
    times = {f"{_PATHS} paths, {name}": milliseconds_of(glob_work(*GLOBS[name])) for name in GLOBS}
    for name, rules in RULES.items():
        data = rules()
        times[f"{len(_NAMES):,} names, {name}"] = milliseconds_of(ignore_work(data))
        reading_ms = milliseconds_of(lambda data=data: IgnoreRules(data))  # type: ignore[misc]
        print(f"{reading_ms:7.1f} ms to read {len(data):,} bytes, {name}")
    assert len(times) + len(REFUSED) >= 20
    for name, spent_ms in sorted(times.items(), key=lambda item: -item[1]):
        print(f"{spent_ms:7.1f} ms  {name}")
    assert max(times.values()) < _LIMIT_MS
