"""The import statements of texts: modules, names, where they stand, and how they import."""

import pytest

from engine.references.import_statements import Statement, statements_of
from engine.syntax.parser import parse
from engine.syntax.references import Marks


def _read(text: str, language: str) -> list[Statement]:
    data = text.encode()
    marks = Marks(parse(data, language, deadline_ms=600_000).marks or ())
    found = statements_of(data, language, marks)
    for each in found:
        last = each.module.rpartition("::")[2]
        assert data[each.start : each.end].decode() in (each.module, last, "*", "self")
        for name in each.names:
            assert data[name.start : name.end].decode() == name.name
    return found


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "from a import (  # (one)\n    b,  # or c\n    d as e,\n)\n", ["a: b d"]),
        ("python", "from a import b, \\\n    c; import d as e, f\n", ["a: b c", "d", "f"]),
        ("python", "from a import type as b, const\n", ["a: type const"]),
        ("typescript", "import { a, /* ' */ b } from 'x' // (c)\n", ["x: a b"]),
        ("typescript", "import type { A } from 'x'\nimport type from 'y'\n", ["x: A", "y: type"]),
        ("typescript", "export { type A, b as c } from './x'\n", ["./x: A b"]),
        ("typescript", "const a = <p>from 'here'</p>\n", []),
        ("javascript", "require('../' + name)\nrequire('../a')\n", ["../a"]),
        ("typescript", "import('a' as any)\n", ["a"]),
        ("go", 'import (\n\t"a" // (b)\n\t/*\n\t"no"\n\t*/\n\tc "d"\n)\n', ["a", "d"]),
        ("go", 'import ("a"; "b")\n', ["a", "b"]),
        (
            "rust",
            "use a::{\n    b, // (one; two)\n    self,\n    c::*,\n    d as e,\n};\n",
            ["a::b", "a", "a::c", "a::d"],
        ),
        ("rust", "use super::super::a;\nuse self::b;\n", ["super::super::a", "self::b"]),
        ("scala", "import a.{B => C, D}\nimport e._\n", ["a: B D", "e._"]),
        ("java", "import a.$B$C;\nimport d.*;\n", ["a.$B$C", "d"]),
        (
            "php",
            "<?php\nuse A\\{\n  B\\C,\n  D as E, // F\n  function g\n};\n",
            ["A: B\\C D g"],
        ),
        ("elixir", "defmodule A do\n  alias __MODULE__.{B, C.D}\nend\n", ["__MODULE__: B C.D"]),
        ("bash", 'source "$HERE/a.sh"\n. "$(dirname "$0")/b.sh"\n', ["a.sh", "b.sh"]),
        ("sql", "import a\n", []),
    ],
)
def test_modules_and_names(language: str, text: str, expected: list[str]) -> None:
    found = [
        ": ".join(filter(None, [each.module, " ".join(name.name for name in each.names)]))
        for each in _read(text, language)
    ]
    assert found == expected


@pytest.mark.parametrize(
    ("language", "text", "deferred"),
    [
        ("python", "import a\ndef f():\n    import b\n    from c import d\n", ["b", "c"]),
        ("javascript", "import a from 'a'\nconst b = () => import('b')\n", ["b"]),
    ],
)
def test_imports_that_run_later(language: str, text: str, deferred: list[str]) -> None:
    assert [each.module for each in _read(text, language) if each.is_deferred] == deferred


@pytest.mark.parametrize(
    ("language", "text", "relative"),
    [
        ("c", '#include <a.h>\n#include "b.h"\n', ["b.h"]),
        ("ruby", "require 'a'\nrequire_relative 'b'\n", ["b"]),
        (
            "php",
            "<?php\nrequire __DIR__ . '/a.php';\ninclude('b.php');\nrequire $c . '/d.php';\n",
            ["/a.php", "b.php"],
        ),
    ],
)
def test_paths_from_the_folder_of_the_file(language: str, text: str, relative: list[str]) -> None:
    assert [each.module for each in _read(text, language) if each.is_relative] == relative


def test_declared_parts_of_a_module() -> None:
    found = _read("pub(crate) mod a;\nmod b { fn c() {} }\nextern crate d;\n", "rust")
    assert [(each.module, each.is_part) for each in found] == [("a", True), ("d", False)]
