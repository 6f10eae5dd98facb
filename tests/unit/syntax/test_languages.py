"""Names of files, languages and kinds."""

import pytest

from engine.syntax.languages import (
    DIALECTS,
    DOCUMENT_LANGUAGES,
    KIND_ALIASES,
    KINDS,
    LANGUAGES,
    grammar_packages,
    kinds_of,
    language_named,
    language_of,
)


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("engine/parser.py", "python"),
        ("types/index.d.ts", "typescript"),
        ("app.tsx", "tsx"),
        ("view.html.erb", "template"),
        ("page.blade.php", "template"),
        ("page.php", "php"),
        ("README.MD", "markdown"),
        ("README", "markdown"),
        ("docs/index.rst", "restructuredtext"),
        ("Makefile", "makefile"),
        ("lib/Makefile.inc", "makefile"),
        ("Dockerfile.dev", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("requirements.txt", "requirements"),
        ("notes.txt", "text"),
        ("LICENSE-MIT", "text"),
        ("Gemfile", "ruby"),
        ("go.mod", "gomod"),
        (".gitignore", "ignore"),
        (".env.example", "dotenv"),
        ("config.h.in", "c"),
        ("a.b.c.rs", "rust"),
        ("queries/go.scm", "scheme"),
        ("weird.", None),
        ("archive.unknown", None),
        (".env", None),
        ("no_extension", None),
        (".py", None),
        ("", None),
        ("folder.py/", None),
    ],
)
def test_names_of_files(path: str, language: str | None) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"#!/bin/sh\n", "bash"),
        (b"#!/usr/bin/env python3.11\n", "python"),
        (b"#!/usr/bin/env -S LANG=C node --flag\n", "javascript"),
        (b"#! /usr/local/bin/ruby -w", "ruby"),
        (b"#!/usr/bin/env -S uv run --script\n", "python"),
        (b"#!/usr/bin/env -S poetry run python3\n", "python"),
        (b"#!/usr/bin/env -S npx tsx\n", "typescript"),
        (b"#!/usr/bin/env -S bundle exec ruby\n", "ruby"),
        (b"#!/usr/bin/perl -w\n", "perl"),
        (b"#!/bin/bash\r\n", "bash"),
        (b"#!/usr/bin/env\n", None),
        (b"#!\n", None),
        (b"#!/opt/unknown\n", None),
        (b"\xff\xfe#!", None),
    ],
)
def test_shebang_lines(head: bytes, language: str | None) -> None:
    assert language_of("bin/tool", head) == language


@pytest.mark.parametrize(
    ("name", "head", "language"),
    [
        ("a.h", b"", "c"),
        ("a.h", b"int add(int a, int b);\n", "c"),
        ("a.h", b"#pragma once\nnamespace a {\n", "cpp"),
        ("a.h", b"template<class T>\n", "cpp"),
        ("a.h", b"std::string name();\n", "cpp"),
        ("a.h", b"@interface A : NSObject\n", "objective-c"),
        ("a.inc", b"<?php\n", "php"),
        ("a.inc", b"#include <a.h>\n", "c"),
        ("a.inc", b"words\n", "text"),
        ("a.ts", b"<?xml version='1.0'?>\n", "xml"),
        ("a.ts", b"let a\n", "typescript"),
    ],
)
def test_names_that_do_not_tell(name: str, head: bytes, language: str) -> None:
    assert language_of(name, head) == language


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("python", "python"),
        ("Py", "python"),
        ("c++", "cpp"),
        ("C#", "csharp"),
        (".rs", "rust"),
        ("golang", "go"),
        ("sh", "bash"),
        ("klingon", None),
        ("", None),
    ],
)
def test_names_of_languages(name: str, language: str | None) -> None:
    assert language_named(name) == language


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("Function", "function"),
        ("type", "class enum interface struct trait type"),
        ("const", "constant"),
        ("func", "function"),
        ("method", "constructor method"),
        ("stage", "target"),
        ("table", "struct"),
    ],
)
def test_names_of_kinds(name: str, kinds: str) -> None:
    assert kinds_of(name) == frozenset(kinds.split())


def test_kinds() -> None:
    assert kinds_of("gadget") is None
    for members in KIND_ALIASES.values():
        assert members <= KINDS


def test_dialects() -> None:
    for name, members in DIALECTS.items():
        assert name in members <= set(LANGUAGES)


def test_no_file_or_name_belongs_to_two_languages() -> None:
    claimed: dict[tuple[str, str], str] = {}
    for name, language in LANGUAGES.items():
        assert language.family in {"code", "document", "data"}
        for kind, values in (
            ("extension", language.extensions),
            ("filename", language.filenames),
            ("interpreter", language.interpreters),
            ("alias", language.aliases),
        ):
            for value in values:
                assert value == value.lower()
                assert claimed.setdefault((kind, value), name) == name
                if kind == "alias":
                    assert value not in LANGUAGES or value == name


def test_prose_and_data_are_documents() -> None:
    assert {"markdown", "json", "text", "yaml"} <= DOCUMENT_LANGUAGES
    assert not {"python", "sql", "dockerfile", "css"} & DOCUMENT_LANGUAGES


def test_packages_of_the_grammars() -> None:
    packages = grammar_packages()
    assert "tree-sitter-c-sharp" in packages
    assert list(packages) == sorted(set(packages))
