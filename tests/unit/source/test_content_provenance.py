import random
from pathlib import Path

import pytest

from engine.source.content import generator_of, licence_of

ROOT = Path(__file__).resolve().parents[3]

MIT = """Copyright (c) 2001 A. Person

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software, to deal in the Software without restriction.

The above copyright notice and this permission notice shall be included in all
copies.
"""
BSD = """Copyright (c) 2001, A. Person

Redistribution and use in source and binary forms, with or without modification,
are permitted provided that the following conditions are met:
"""
BSD_NAMES = (
    "3. Neither the name nor its contributors may be used to endorse or promote products\n"
    "   derived from this software without permission.\n"
)
ISC = "Permission to use, copy, modify, and/or distribute this software for any purpose\n"
ISC += "with or without fee is hereby granted"
GNU = "      GNU {}GENERAL PUBLIC LICENSE\n           Version {}\n\n Everyone is permitted to\n"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (MIT, "MIT"),
        (f"# The MIT License\n\n> {MIT}", "MIT"),
        (MIT.replace("\n", "\r\n"), "MIT"),
        (MIT.partition("The above")[0], "MIT-0"),
        (BSD, "BSD-2-Clause"),
        (BSD + BSD_NAMES, "BSD-3-Clause"),
        (f"{ISC}, provided that the above copyright notice appears\n", "ISC"),
        (f"{ISC}.\n", "0BSD"),
        ("   Apache License\n  Version 2.0, January 2004\nhttp://www.apache.org/licenses/\n"
         "TERMS AND CONDITIONS", "Apache-2.0"),
        ('Licensed under the Apache License, Version 2.0 (the "License");\n you may get it at\n'
         "http://www.apache.org/licenses/LICENSE-2.0\n", "Apache-2.0"),
        (GNU.format("", "2, June 1991"), "GPL-2.0"),
        (GNU.format("", "3, 29 June 2007"), "GPL-3.0"),
        (GNU.format("LESSER ", "2.1, February 1999"), "LGPL-2.1"),
        (GNU.format("LESSER ", "3, 29 June 2007"), "LGPL-3.0"),
        (GNU.format("AFFERO ", "3, 19 November 2007"), "AGPL-3.0"),
        ("Mozilla Public License Version 2.0\n======\n\n1. Definitions\n", "MPL-2.0"),
        ("Eclipse Public License - v 2.0\n\n  THE ACCOMPANYING PROGRAM IS\n", "EPL-2.0"),
        ("This is free and unencumbered software released into the\npublic domain.", "Unlicense"),
        ("Creative Commons Legal Code\n\nCC0 1.0 Universal\n", "CC0-1.0"),
        ("Boost Software License - Version 1.0 - August 17th, 2003\n", "BSL-1.0"),
        ("1. The origin of this software must not be misrepresented; you must\n", "Zlib"),
        (f"{BSD}{BSD_NAMES}\n\n-----\n\n{MIT}", "BSD-3-Clause AND MIT"),
    ],
)  # fmt: skip
def test_licences_are_recognised_by_their_words(text: str, licence: str) -> None:
    assert licence_of(text.encode(), "text") == licence
    assert licence_of(text.encode(), "markdown") == licence
    assert licence_of(text.encode(), "python") is None


def test_the_licence_of_this_project_is_recognised() -> None:
    assert licence_of((ROOT / "LICENSE").read_bytes(), "text")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A tool\n\nReleased under the MIT License, see LICENSE.\n",
        "# A tool\n\n" + "words\n" * 1000 + MIT,
        "This is not under the GNU General Public License, version 3, but under another.\n",
    ],
)
def test_documents_that_are_no_licence_have_none(text: str) -> None:
    assert licence_of(text.encode(), "markdown") is None


@pytest.mark.parametrize(
    ("line", "licence"),
    [
        ("// SPDX-License-Identifier: MIT", "MIT"),
        ("/* SPDX-License-Identifier: (GPL-2.0+ OR MIT) */", "(GPL-2.0+ OR MIT)"),
        ("<!-- SPDX-License-Identifier: CC-BY-4.0 -->", "CC-BY-4.0"),
        ("# SPDX-License-Identifier:\tGPL-2.0-only WITH Linux-syscall-note\r",
         "GPL-2.0-only WITH Linux-syscall-note"),
        ("# SPDX-License-Identifier: MIT or Apache-2.0", "MIT OR Apache-2.0"),
        ("# SPDX-License-Identifier: MIT, see LICENSE", "MIT"),
        ("# SPDX-License-Identifier: MIT AND", "MIT"),
        ("# SPDX-License-Identifier: ((MIT) OR (ISC AND 0BSD)) -- both",
         "((MIT) OR (ISC AND 0BSD))"),
        ("; SPDX-License-Identifier: LicenseRef-Own", "LicenseRef-Own"),
        ("# SPDX-License-Identifier: ", None),
        ("# SPDX-License-Identifier: {{ licence }}", None),
        ("# SPDX-License-Identifier: (MIT", None),
        ("# SPDX-License-Identifier: ) MIT", None),
        ("# SPDX-License-Identifier: OR MIT", None),
        ("# licensed under MIT", None),
    ],
)  # fmt: skip
def test_spdx_lines_are_read(line: str, licence: str | None) -> None:
    assert licence_of(f"#!/bin/sh\n{line}\nMIT = 1\n".encode(), "bash") == licence


def test_spdx_lines_count_at_the_beginning_only() -> None:
    line = b"# SPDX-License-Identifier: MIT\n"
    assert licence_of(b"# more\n" * 200 + line, "python") == "MIT"
    assert licence_of(b"# more\n" * 2000 + line, "python") is None


def test_an_endless_expression_is_cut() -> None:
    found = licence_of(b"# SPDX-License-Identifier: " + b"MIT OR " * 100_000, "python")
    assert found is not None
    assert found.startswith("MIT OR MIT")
    assert len(found) <= 200


@pytest.mark.parametrize(
    ("head", "generator"),
    [
        ("// Code generated by protoc-gen-go. DO NOT EDIT.", "protoc-gen-go"),
        ("// Code generated by mockery v2.14.0. DO NOT EDIT.", "mockery v2.14.0"),
        ('// Code generated by "stringer -type=Pill"; DO NOT EDIT.', "stringer -type=Pill"),
        ("// Code generated by counterfeiter from api.go. DO NOT EDIT.", "counterfeiter"),
        ("# Generated by the protocol buffer compiler.  DO NOT EDIT!", "protocol buffer compiler"),
        ("# Generated by Django 4.2 on 2024-01-01 10:00", "Django 4.2"),
        ("# @generated by Cargo", "Cargo"),
        ("// This file is @generated by prost-build.", "prost-build"),
        ("/* autogenerated by SWIG (http://swig.example) */", "SWIG"),
        ("{- generated by happy -}", "happy"),
        ("<!-- automatically generated with docs-maker -->", "docs-maker"),
        ("# DO NOT EDIT\n# generated by running `make tables`", "make tables"),
        ("/* Do not edit, it was automatically generated by\n * tools/table.pl\n */",
         "tools/table.pl"),
        ("// <auto-generated>\n//     This code was generated by a tool.\n", None),
        ("/* @generated SignedSource<<0123>> */", None),
        ("; autogenerated from schema.xml", None),
        ("/* DO NOT EDIT */", None),
        ("x = 1", None),
    ],
)  # fmt: skip
def test_the_generator_is_the_one_that_the_mark_names(head: str, generator: str | None) -> None:
    assert generator_of(f"{head}\n\nx = 1\n".encode()) == generator


def test_a_generator_is_short_and_printable() -> None:
    assert generator_of(b"# Generated by ge\x1bn\x00er\xe2\x80\xaea. DO NOT EDIT") == "genera"
    long = generator_of(b"# Generated by " + b"x" * 5000)
    assert long is not None
    assert len(long) == 80
    assert generator_of(b"# Generated by one two three four five six seven eight") is None


def test_hostile_texts_end_and_say_little() -> None:
    source = random.Random(5)
    pieces = [b"generated by ", b"\n# ", b"DO NOT EDIT", b" hereby granted", b"(", b"SPDX-", b" "]
    texts = [b"# " + piece * (1_000_000 // len(piece)) for piece in pieces]
    texts.append(b"".join(source.choices(pieces, k=100_000)))
    for text in texts:
        assert licence_of(text, "text") is None
        assert len(generator_of(text) or "") < 80
