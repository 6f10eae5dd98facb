"""What import statements name, in each language, and which modules a filter asks for."""

import pytest

from engine.references.imported_names import (
    Imported,
    imports_of,
    is_asked_module,
    module_word,
)
from engine.references.sources import Contents, Source
from engine.store.compression import pack_marks
from engine.store.references import SourceRow
from engine.syntax.parser import parse


def _source(text: str, language: str, path: str) -> Source:
    data = text.encode()
    marks = parse(data, language, deadline_ms=600_000).marks
    packed = None if marks is None else pack_marks(marks)
    return Source(path, Contents(SourceRow(path, 1, language, b"", packed), data, []))


def _named(text: str, language: str, path: str = "app/here.x") -> list[str]:
    """Return what a text imports as ``module`` or ``module name``, parts joined by dots."""
    found = []
    source = _source(text, language, path)
    for each in imports_of(source):
        shown = source.text[each.start : each.end].decode()
        assert shown in (each.written, each.name, "self") or each.written.endswith(shown)
        found.append(" ".join(filter(None, [".".join(each.segments), each.name])))
    return found


@pytest.mark.parametrize(
    ("language", "text", "named"),
    [
        ("python", "import os.path, numpy as np\n", ["os.path", "numpy"]),
        (
            "python",
            "from a.b import (\n    c as d,  # or e\n    f,\n)\n",
            ["a.b", "a.b c", "a.b f"],
        ),
        ("python", "if x:\n    from . import session\n", ["app", "app session"]),
        ("python", "from ..x import y\n", ["x", "x y"]),
        ("python", "# import no\ntext = '''\nimport no\n'''\n", []),
        (
            "typescript",
            "import React, { useState as use, type FC } from 'react'\n",
            ["react", "react React", "react useState", "react FC"],
        ),
        ("typescript", 'export * from "./a.js"\nimport "./b"\n', ["app.a", "app.b"]),
        ("typescript", "const fs = require('node:fs')\nawait import(`x`)\n", ["fs"]),
        (
            "typescript",
            "export interface A { x: 1 }\nimport { b } from 'c'\n// import d from 'e'\n",
            ["c", "c b"],
        ),
        ("javascript", "import * as z from '@acme/z/core'\n", ["@acme.z.core", "@acme.z.core z"]),
        ("go", 'package a\n\nimport f "fmt"\n', ["fmt"]),
        (
            "go",
            'package a\n\nimport (\n\t"os"\n\ty "gopkg.in/yaml.v3"\n\t// "no"\n)\n',
            ["os", "gopkg.in.yaml.v3"],
        ),
        (
            "rust",
            "use std::{fs, io::{self, Read as R}};\npub use crate::a::B;\n",
            ["std fs", "std io", "std.io Read", "a B"],
        ),
        ("rust", "// use this one\nuse a::b;\nfn use_it() {}\n", ["a b"]),
        ("c", '#include <sys/types.h>\n# include "tmux.h"\n', ["sys.types", "tmux"]),
        ("cpp", "#include <vector>\n/*\n#include <no>\n*/\n", ["vector"]),
        ("java", "import java.util.List;\nimport static a.B.*;\n", ["java.util.List", "a.B"]),
        ("kotlin", "import a.b.C as D\n", ["a.b.C"]),
        ("scala", "import a.b.{C, D}\n", ["a.b", "a.b C", "a.b D"]),
        (
            "csharp",
            "using System.IO;\nusing X = A.B;\nusing (var f = g) {}\n",
            ["System.IO", "A.B"],
        ),
        (
            "php",
            "<?php\nuse App\\Http\\{A, B};\nrequire 'x/y.php';\n",
            [
                "App.Http",
                "App.Http A",
                "App.Http B",
                "x.y",
            ],
        ),
        ("ruby", "require 'json'\nrequire_relative './a/b'\n", ["json", "app.a.b"]),
        ("lua", 'local x = require("a.b")\nrequire "c"\n', ["a.b", "c"]),
        ("elixir", "alias A.{B, C}\nuse D.E\n", ["A", "A B", "A C", "D.E"]),
        ("swift", "import struct Foundation.Date\n", ["Foundation.Date"]),
        ("haskell", "import qualified Data.Map as M\n", ["Data.Map"]),
        ("bash", "source ./lib/a.sh\n. b\n", ["app.lib.a", "b"]),
        ("zig", 'const std = @import("std");\n', ["std"]),
        ("dart", "import 'package:a/b.dart';\n", ["package:a.b"]),
        ("proto", 'syntax = "proto3";\nimport public "a/b.proto";\n', ["a.b"]),
        ("scss", '@use "base/colours";\n@import url("x.css");\n', ["base.colours", "x"]),
        ("sql", "import a\n", []),
    ],
)
def test_modules_and_names_of_statements(language: str, text: str, named: list[str]) -> None:
    assert _named(text, language) == named


def _import(written: str, *segments: str, name: str = "", is_whole: bool = False) -> Imported:
    return Imported(0, 1, written, segments, name, is_whole)


@pytest.mark.parametrize(
    ("asked", "language", "imported", "is_asked"),
    [
        ("numpy", "python", _import("numpy.linalg", "numpy", "linalg"), True),
        ("linalg", "python", _import("numpy.linalg", "numpy", "linalg"), True),
        ("numpy.linalg", "python", _import("numpy", "numpy", name="linalg"), True),
        ("numpy.fft", "python", _import("numpy.linalg", "numpy", "linalg"), False),
        ("num", "python", _import("numpy", "numpy"), False),
        ("b.c", "python", _import("a.b.c.d", "a", "b", "c", "d"), True),
        ("b", "python", _import("a.b.c", "a", "b", "c"), False),
        ("app", "python", _import(".x", "app", "x", is_whole=True), False),
        ("app.x", "python", _import(".x", "app", "x", is_whole=True), True),
        (".x", "python", _import(".", "app", name="x", is_whole=True), True),
        ("app/x.py", "python", _import("app.x", "app", "x"), True),
        ("src/app/x.py", "python", _import("app.x", "app", "x"), True),
        ("src/app/x.py", "python", _import("app", "app", name="x"), True),
        ("src/app/x.py", "python", _import(".x", "app", "x", is_whole=True), False),
        ("src/app/x.py", "python", _import("x", "x"), False),
        ("src/app/x", "python", _import("app.x", "app", "x"), False),
        ("src/x.py", "python", _import("x", "x"), True),
        ("app/os.py", "python", _import("os", "os"), False),
        ("src/app/__init__.py", "python", _import("app", "app", name="X"), True),
        ("src/app/__init__.py", "python", _import("app.x", "app", "x"), False),
        ("src/main/java/a/B.java", "java", _import("a.B", "a", "B"), True),
        ("include/acme/pool.h", "c", _import("acme/pool.h", "acme", "pool"), True),
        ("./a", "typescript", _import("./a.js", "ts", "a", is_whole=True), True),
        ("./a", "typescript", _import("./a/index.ts", "ts", "a", is_whole=True), True),
        ("./a", "typescript", _import("../a", "a", is_whole=True), False),
        ("chart.js", "typescript", _import("chart.js", "chart"), True),
        ("@acme/pool", "typescript", _import("@acme/pool/x", "@acme", "pool", "x"), True),
        ("tmux.h", "c", _import("tmux.h", "tmux"), True),
        ("<sys/types.h>", "c", _import("sys/types.h", "sys", "types"), True),
        ("std::fs", "rust", _import("std::fs", "std", name="fs"), True),
        ("crate::a::B", "rust", _import("a::B", "a", name="B"), True),
        ("App\\Http", "php", _import("App\\Http\\A", "App", "Http", "A"), True),
        ("", "python", _import("a", "a"), False),
        ("*", "java", _import("a.*", "a"), False),
    ],
)
def test_a_module_is_asked_for_by_its_first_or_last_parts(
    asked: str, language: str, imported: Imported, is_asked: bool
) -> None:
    assert is_asked_module(asked, imported, language) is is_asked


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ("numpy", "numpy"),
        ("app.session", "session"),
        ("./session.js", "session"),
        ("tmux.h", "tmux"),
        ("github.com/acme/pool", "pool"),
        ("std::fs", "fs"),
        ("a.*", "a"),
        ("..", ""),
        ("", ""),
    ],
)
def test_the_word_that_a_file_must_have(asked: str, word: str) -> None:
    assert module_word(asked) == word


@pytest.mark.parametrize(
    ("language", "piece"),
    [
        ("typescript", "export {"),
        ("typescript", "import "),
        ("rust", "use a::{b,"),
        ("python", "from . import (\n"),
        ("python", "from ..."),
        ("go", "import (\n"),
        ("scala", "import a.{b\n"),
        ("php", "use a\\{\n"),
        ("c", "#include <"),
    ],
)
def test_pieces_of_statements_take_no_time(language: str, piece: str) -> None:
    row = SourceRow("app/here.x", 1, language, b"", None)
    for _ in imports_of(
        Source(row.path, Contents(row, piece.encode() * (400_000 // len(piece)), []))
    ):
        pass
