"""Contents that no parser likes: broken encodings, endless nesting, data that looks like code."""

import base64
import random

from engine.config import MIB
from engine.records import SkipReason
from tests.support.hostile.case import INDEXED, Case, file_case

_SEED = 9
_LEVELS = 100_000
_LINE_BYTES = 90
_PRINTABLE = "".join(map(chr, range(33, 127)))


def repeated(unit: str, start: str = "", size_bytes: int = MIB) -> str:
    """Give a text of one unit over and over, in lines as people write them."""
    line = unit * (_LINE_BYTES // len(unit)) + "\n"
    room = size_bytes - len(start)
    return start + line * (room // len(line.encode()))


def _nested(opening: str, closing: str, levels: int = _LEVELS) -> str:
    """Give brackets in brackets, broken into lines so that it does not count as minified."""
    text = opening * levels + closing * levels
    return "\n".join(text[at : at + _LINE_BYTES] for at in range(0, len(text), _LINE_BYTES))


def _random_text() -> str:
    source = random.Random(_SEED)
    return "\n".join(
        "".join(source.choices(_PRINTABLE, k=_LINE_BYTES)) for _ in range(MIB // (_LINE_BYTES + 1))
    )


def _random_bytes() -> bytes:
    return random.Random(_SEED).randbytes(MIB)


def _functions() -> str:
    return "".join(f"def f{number}(): pass\n" for number in range(45_000))


def _base64_module() -> str:
    body = base64.encodebytes(random.Random(_SEED).randbytes(700_000)).decode()
    return f'DATA = """\n{body}"""\n'


def _notebook() -> str:
    image = base64.b64encode(random.Random(_SEED).randbytes(200_000)).decode()
    cell = (
        '{"cell_type": "code", "source": ["plot(1)"], "outputs": [{"data": {"image/png": "%s"}}]}'
    )
    return '{"nbformat": 4,\n "cells": [\n  ' + cell % image + "\n ]}\n"


_LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d7a2146' * 8}\nsize 12345\n"
_CODE = "def encoded():\n    return 'Grüße, 世界, привет'\n"

#: Bytes that are no text, or one in an unusual encoding: a file name, the data, what is right.
_ENCODINGS = (
    ("nul bytes", "a.py", b"x = 1\n\0\0\0y = 2\n" * 100, (SkipReason.BINARY,)),
    ("utf-16 with a mark", "a.py", _CODE.encode("utf-16"), ()),
    (
        "utf-16 without a mark",
        "a.py",
        (_CODE * 20).encode("utf-16-le"),
        (INDEXED, SkipReason.BINARY, SkipReason.UNDECODABLE),
    ),
    ("utf-32 with a mark", "a.py", _CODE.encode("utf-32"), (INDEXED, SkipReason.BINARY)),
    (
        "utf-32 without a mark",
        "a.py",
        (_CODE * 20).encode("utf-32-be"),
        (INDEXED, SkipReason.BINARY, SkipReason.UNDECODABLE),
    ),
    (
        "utf-16 cut in a character",
        "a.py",
        _CODE.encode("utf-16")[:-1],
        (INDEXED, SkipReason.BINARY),
    ),
    ("latin-1", "a.py", "# Grüße aus Köln\nx = 'é'\n".encode("latin-1"), ()),
    ("shift-jis", "a.py", "# こんにちは世界、これはコメントです\nx = 1\n".encode("shift-jis"), ()),
    ("a surrogate", "a.py", b"x = '\xed\xa0\x80'\n" * 50, (INDEXED, SkipReason.UNDECODABLE)),
    ("utf-8 cut in a character", "a.py", "x = 'é'".encode()[:-2], ()),
    ("marks everywhere", "a.py", b"\xef\xbb\xbf\xef\xbb\xbfx = 1\n\xef\xbb\xbfy = 2\n", ()),
    ("crlf", "a.py", b"def a():\r\n    return 1\r\n" * 100, ()),
    ("cr alone", "a.py", b"def a():\r    return 1\r" * 100, ()),
    ("random bytes", "a.py", _random_bytes(), (SkipReason.BINARY, SkipReason.UNDECODABLE)),
    (
        "pdf",
        "a.py",
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + _random_bytes()[:5_000],
        (SkipReason.BINARY,),
    ),
)

#: Texts: a file name, what makes the text, what is right.
_TEXTS = (
    ("one line of a megabyte", "a.js", "a=1;" * (MIB // 4), (SkipReason.MINIFIED,)),
    ("quotes", "a.py", repeated('"a'), ()),
    ("tags", "a.tsx", repeated("<a "), ()),
    ("angles", "a.java", repeated("a<"), ()),
    ("arrows in java", "a.java", repeated("a=>"), ()),
    ("arrows in c", "a.c", repeated("a=>"), ()),
    ("random text in c", "a.c", _random_text(), ()),
    ("random text in bash", "a.sh", _random_text(), ()),
    ("nested python", "a.py", _nested("(", ")"), ()),
    ("nested javascript", "a.js", _nested("[", "]"), ()),
    ("nested json", "a.json", _nested("[", "]"), ()),
    ("nested ocaml", "a.ml", _nested("(", ")"), ()),
    ("nested blocks", "a.rs", "fn f() " + _nested("{", "}"), ()),
    ("nested calls", "a.go", "package a\nvar x = " + _nested("f(\n", ")\n", 20_000), ()),
    ("nested quotes", "a.md", _nested("> ", "", 50_000), ()),
    ("many functions", "a.py", _functions(), ()),
    ("a million lines", "a.txt", "\n" * 1_000_000, ()),
    ("base64", "a.py", _base64_module(), ()),
    ("notebook with an image", "a.ipynb", _notebook(), (INDEXED, SkipReason.MINIFIED)),
    ("lfs pointer", "a.py", _LFS, (SkipReason.LFS_POINTER,)),
    ("letters beyond tables", "a.sh", repeated("\U0001d41a "), ()),
    ("open comment", "a.c", repeated("/* ", "/*"), ()),
    ("hashes", "a.swift", repeated("#"), ()),
    ("calls in swift", "a.swift", repeated("a("), ()),
    ("open brackets in lua", "a.lua", repeated("[["), ()),
)

CASES: tuple[Case, ...] = (
    *(file_case("content", name, file, data, *right) for name, file, data, right in _ENCODINGS),
    *(file_case("content", name, file, text, *right) for name, file, text, right in _TEXTS),
)
