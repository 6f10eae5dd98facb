"""What a fingerprint is made of."""

from importlib import metadata

import pytest

from engine.indexing.scope import _installed, _shapes_contents
from engine.syntax.languages import grammar_packages


@pytest.mark.parametrize(
    ("room", "name", "counts"),
    [
        ("engine.syntax", "captures.py", True),
        ("engine.syntax", "__init__.py", True),
        ("engine.syntax.queries", "python.scm", True),
        ("engine.source", "content.py", True),
        ("engine.source", "git.py", False),
        ("engine.source", "walker.py", False),
        ("engine.syntax", "notes.txt", False),
    ],
)
def test_what_shapes_contents(room: str, name: str, counts: bool) -> None:
    assert _shapes_contents(room, name) is counts


def test_versions_of_parsers_are_those_of_their_metadata() -> None:
    installed = _installed()
    for package in ("tree-sitter", "charset-normalizer", *grammar_packages()):
        assert installed[package] == metadata.version(package)
