"""The marks of a text in readable form, and the references in a tree of files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.reference_records import Reference, ReferenceRequest
from engine.syntax.parser import parse
from engine.syntax.references import Marks, name_pattern
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree


def found_in(folder: Path, tree: Mapping[str, str | bytes], name: str) -> Sequence[Reference]:
    """Index a tree below a folder of the test's own, and return the references of a name."""
    with catalog_in(folder / "home") as catalog:
        project = catalog.create(str(write_tree(folder / "tree", tree)))
        project.index()
        return project.references.find(ReferenceRequest(name=name)).references


def marks_in(text: str, language: str) -> Marks:
    """Return the marks of a text."""
    return Marks(parse(text.encode(), language, deadline_ms=600_000).marks or ())


def references_in(text: str, language: str) -> list[str]:
    """Return the references of a text in order, each as ``role name``.

    The names are without ``?`` and ``!``, which are operators in some languages.
    """
    data = text.encode()
    found = []
    for reference in marks_in(text, language).within(0, len(data)):
        name = name_pattern(language).match(data, reference.offset)
        assert name is not None, data[reference.offset :][:20]
        found.append(f"{reference.role} {name.group().decode().rstrip('?!')}")
    return found


def texts_in(text: str, language: str) -> str:
    """Return a text in which only comments and literals are left."""
    marks = marks_in(text, language)
    data = text.encode()
    return bytes(byte for at, byte in enumerate(data) if marks.is_text(at)).decode()
