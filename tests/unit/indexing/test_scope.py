"""What a fingerprint is made of, and which sizes a scope can have."""

from importlib import metadata

import pytest

from engine.errors import InvalidInputError
from engine.index_records import IndexOptions
from engine.indexing.scope import _installed, _shapes_contents, check_options, fingerprint
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
        ("engine.embedding", "static.py", True),
        ("engine.embedding", "static_model.py", True),
        ("engine.embedding", "http.py", False),
    ],
)
def test_what_shapes_contents(room: str, name: str, counts: bool) -> None:
    assert _shapes_contents(room, name) is counts


def test_versions_of_parsers_are_those_of_their_metadata() -> None:
    installed = _installed()
    for package in ("tree-sitter", "charset-normalizer", *grammar_packages()):
        assert installed[package] == metadata.version(package)


@pytest.mark.parametrize("package", ["pypdf", "python-docx"])
def test_another_reader_of_documents_is_another_fingerprint(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = _installed()
    assert installed[package] == metadata.version(package)
    before = fingerprint.__wrapped__()
    without = {name: version for name, version in installed.items() if name != package}
    for changed in ({**installed, package: "0.0.1"}, without):
        monkeypatch.setattr("engine.indexing.scope._installed", changed.copy)
        assert fingerprint.__wrapped__() != before


@pytest.mark.parametrize(
    ("size", "message", "told"),
    [
        (20 << 20, "max_file_size too large", "20971520, wanted 0 to 10485760"),
        (-1, "max_file_size is negative", "-1, wanted 0 to 10485760"),
    ],
)
def test_a_size_out_of_range_is_told_with_the_range(size: int, message: str, told: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        check_options(IndexOptions(max_file_size=size))
    assert (raised.value.message, str(raised.value)) == (message, f"{message}: {told}")
