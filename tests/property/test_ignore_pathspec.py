"""A second opinion on ignore rules: pathspec agrees on every plain pattern.

The first opinion is git's own, in ``test_walker_git``; this one needs no repository and runs on
many more rules.
"""

import tempfile
from pathlib import Path

import pathspec
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.records import FileEntry
from engine.source.walker import WalkRules, walk
from tests.support.budget import examples

PATHS = [
    "a",
    "b.py",
    "a.log",
    "lib/a",
    "lib/b.py",
    "lib/sub/a.log",
    "lib/sub/c",
    "doc/a/b.py",
    "doc/c",
]
_PIECES = st.sampled_from(["a", "c", "lib", "sub", "doc", "*.py", "*.log", "*", "?", "[ab]*"])
_ANCHORS = st.sampled_from(["", "/", "**/"])
_BODIES = st.lists(_PIECES, min_size=1, max_size=2).map("/".join)
# Without negations: there pathspec's answers differ from git's ("lib/**" then "!a" for lib/a).
_PATTERNS = st.builds("{}{}{}".format, _ANCHORS, _BODIES, st.sampled_from(["", "/", "/**"]))


@settings(max_examples=examples(400))
@given(st.lists(_PATTERNS, max_size=4))
def test_plain_rules_mean_the_same(rules: list[str]) -> None:
    spec = pathspec.GitIgnoreSpec.from_lines(rules)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in PATHS:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        (root / ".gitignore").write_text("\n".join(rules))
        found = {item.path for item in walk(folder, WalkRules()) if isinstance(item, FileEntry)}
    assert found - {".gitignore"} == {path for path in PATHS if not _is_ignored(spec, path)}


def _is_ignored(spec: pathspec.GitIgnoreSpec, path: str) -> bool:
    """Ask for the folders above first: what lies in an ignored folder cannot come back."""
    pieces = path.split("/")
    folders = ["/".join(pieces[:end]) + "/" for end in range(1, len(pieces))]
    return any(spec.match_file(each) for each in [*folders, path])
