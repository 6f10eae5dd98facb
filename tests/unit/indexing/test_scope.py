"""What a fingerprint is made of."""

import pytest

from engine.indexing.scope import _shapes_contents


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
