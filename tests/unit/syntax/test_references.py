"""Marks of references: names with their roles, and what is no code."""

import pytest

from engine.syntax.parser import parse
from engine.syntax.references import NAME, Marks


def _references(text: str, language: str) -> list[tuple[str, str]]:
    data = text.encode()
    marks = Marks(parse(data, language, deadline_ms=5000).marks or ())
    found = []
    for reference in marks.within(0, len(data)):
        name = NAME.match(data, reference.offset)
        assert name is not None, data[reference.offset :][:20]
        found.append((name.group().decode(), str(reference.role)))
    return found


_PYTHON = '''from app.session import SessionStore as Store, open_all
import app.http.router

@decorated
class Own(base.Base, Generic[T]):
    def run(self, store: Store | None) -> list[Item]:
        """Call hidden()."""
        value = self.helper(store.limit)  # and commented()
        try:
            return f"{build(value)} hidden_too()"
        except errors.Broken:
            pass
'''


def test_references_of_python() -> None:
    assert _references(_PYTHON, "python") == [
        ("SessionStore", "import"),
        ("open_all", "import"),
        ("router", "import"),
        ("decorated", "call"),
        ("Base", "inherit"),
        ("Generic", "inherit"),
        ("Store", "type"),
        ("list", "type"),
        ("Item", "type"),
        ("helper", "call"),
        ("build", "call"),
        ("Broken", "type"),
    ]


@pytest.mark.parametrize("word", ["hidden", "commented", "hidden_too"])
def test_comments_and_literals_are_text(word: str) -> None:
    data = _PYTHON.encode()
    marks = Marks(parse(data, "python", deadline_ms=5000).marks or ())
    assert marks.is_text(data.index(word.encode()))
    assert not marks.is_text(data.index(b"build(value)"))
    assert not marks.is_text(data.index(b"store.limit"))
