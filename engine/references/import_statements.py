"""The import statements of a text, and what it says of its own name.

Statements are found by patterns, a few for each language, outside of comments and literals. No
pattern goes back over what it has read of a statement (``+`` behind a number of repetitions), and
none reads a stretch again for each of many keywords, so that no file takes minutes.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from engine.syntax.references import Marks

_MOST_BYTES = 4000  # of a statement

ECMASCRIPT = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"})
C_LIKE = frozenset({"c", "cpp", "objective-c"})
JVM = frozenset({"java", "kotlin", "scala", "groovy"})


class ImportedName(NamedTuple):
    """A name that is imported from a module, not the alias that it gets."""

    name: str
    start: int  # in bytes
    end: int


class Statement(NamedTuple):
    """An import of one module."""

    module: str  # as it is written; of Rust, the whole path of an imported name
    start: int  # of the module, in bytes
    end: int
    names: tuple[ImportedName, ...] = ()
    is_deferred: bool = False  # does not run when the file is loaded
    is_part: bool = False  # declares a part of the module itself: ``mod x;``
    is_relative: bool = False  # the path is looked for in the folder of the file


_Reader = Callable[[bytes, Marks], Iterator[Statement]]

# What is imported from a module, between commas: ``type C``, ``* as z``, ``B as C``, ``B => C``.
_NAME = re.compile(
    rb"(?:\b(?:type|function|const)\s+(?!as\b)|\*\s*as\s+)?"
    rb"([\w$\x80-\xff]+(?:[.\\][\w$\x80-\xff]+)*)(?:\s+as\s+[\w$\x80-\xff]+|\s*=>\s*[\w$]+)?"
)
#: Not by a possessive group: Python before 3.11.5 matches those with look-aheads wrongly, and
#: counts half of what follows the last whole match of the group.
COMMENT = re.compile(rb"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")
_HASH_COMMENT = re.compile(rb"#[^\n]*")
_LITERAL = rb"[\"'](?P<module>[^\"'\n]+)[\"']"

_PYTHON_MODULE = re.compile(rb"\w[\w.]*")
_PYTHON_IMPORT = re.compile(
    rb"(?:^(?P<deferred>[ \t]+)?|;[ \t]*)(?P<begin>import)[ \t]+"
    rb"(?P<modules>(?>(?:[\w., \t]|\\\r?\n)+))",
    re.MULTILINE,
)
_ECMASCRIPT_FROM = re.compile(rb"(?P<begin>\bfrom)\s*" + _LITERAL)
_ECMASCRIPT_BEGIN = re.compile(rb"\b(?:import|export)\b(?:\s+type\b(?=\s*[{*\w$]))?")
_ECMASCRIPT_NAMES = re.compile(rb"[\w$\s{},*\x80-\xff]*")
_GO_GROUP = re.compile(rb"^import[ \t]*\(", re.MULTILINE)
_GO_LINE = re.compile(
    rb"(?:^|[(;])[ \t]*(?:[\w.]+[ \t]+)?[\"`](?P<module>[^\"`\n]+)[\"`]", re.MULTILINE
)
_RUST_USE = re.compile(rb"\buse\s")
_RUST_TREE = re.compile(rb"(?:[\w\s:{},*#]++|//[^\n]*+)*+;")
_RUST_TOKEN = re.compile(rb"\bas\s+\w+|(?:r#)?(?P<word>\w+|\*)\s*(?P<more>::)?|(?P<sign>[{},])")

#: What a text says of its own name.
_DECLARED: Mapping[str, re.Pattern[bytes]] = {
    language: re.compile(pattern, re.MULTILINE)
    for language, pattern in {
        **dict.fromkeys(JVM, rb"^\s*package\s+([\w.]+)"),
        "csharp": rb"^\s*namespace\s+([\w.]+)",
        "php": rb"^\s*namespace\s+([\w\\]+)\s*[;{]",
        "elixir": rb"^\s*(?:defmodule|defprotocol)\s+([A-Z][\w.]*)",
        "haskell": rb"^module\s+([A-Z][\w.]*)",
    }.items()
}


def statements_of(text: bytes, language: str, marks: Marks) -> list[Statement]:
    """Return the import statements of a text, in order.

    Args:
        text: The text.
        language: Of the text.
        marks: Of its comments and literals.
    """
    found = [each for reader in _READERS.get(language, ()) for each in reader(text, marks)]
    return sorted(found, key=lambda each: each.start)


def has_imports(language: str) -> bool:
    """Return whether the import statements of a language are read."""
    return language in _READERS


def declared_in(text: bytes, language: str) -> list[str]:
    """Return the packages, namespaces or modules that a text declares to be."""
    pattern = _DECLARED.get(language)
    return [] if pattern is None else [_text(each) for each in pattern.findall(text)[:50]]


def _text(found: bytes) -> str:
    return found.decode("utf-8", "replace")


def _names_in(text: bytes, offset: int, comment: re.Pattern[bytes]) -> tuple[ImportedName, ...]:
    """Return the names of a stretch of a text that begins at an offset."""
    return tuple(
        ImportedName(_text(each[1]), offset + each.start(1), offset + each.end(1))
        for each in _NAME.finditer(_without(comment, text))
    )


def _without(comment: re.Pattern[bytes], text: bytes) -> bytes:
    """Return a text with blanks in place of comments."""
    return comment.sub(lambda found: b" " * len(found[0]), text)


def _of(pattern: bytes, comment: re.Pattern[bytes] = COMMENT) -> _Reader:
    """Return what reads the statements of a pattern by its groups.

    ``begin`` is a place outside of comments and literals, ``module`` and ``names`` are what is
    imported, and ``deferred``, ``part`` and ``relative`` are there if the statement is so.
    """
    compiled = re.compile(pattern, re.MULTILINE)

    def read(text: bytes, marks: Marks) -> Iterator[Statement]:
        for found in compiled.finditer(text):
            if marks.is_text(found.start("begin")):
                continue
            groups = found.groupdict()
            names = groups.get("names")
            yield Statement(
                _text(found["module"]),
                *found.span("module"),
                _names_in(names, found.start("names"), comment) if names else (),
                groups.get("deferred") is not None,
                groups.get("part") is not None,
                groups.get("relative") is not None,
            )

    return read


def _python_imports(text: bytes, marks: Marks) -> Iterator[Statement]:
    """Yield the modules of ``import a.b as c, d``."""
    for found in _PYTHON_IMPORT.finditer(text):
        if marks.is_text(found.start("begin")):
            continue
        for name in _names_in(found["modules"], found.start("modules"), _HASH_COMMENT):
            yield Statement(*name, is_deferred=found["deferred"] is not None)


def _ecmascript_from(text: bytes, marks: Marks) -> Iterator[Statement]:
    """Yield the statements ``import X, {a as b, type C} from "…"``, and ``export`` likewise."""
    last = 0
    for found in _ECMASCRIPT_FROM.finditer(text):
        start, end = last, found.start()
        if marks.is_text(end):
            continue
        last = found.end()
        begins = [
            each.end()
            for each in _ECMASCRIPT_BEGIN.finditer(text, start, end)
            if not marks.is_text(each.start())
        ]
        if not begins:
            continue
        names = _without(COMMENT, text[begins[-1] : end])
        if _ECMASCRIPT_NAMES.fullmatch(names):
            yield Statement(
                _text(found["module"]),
                *found.span("module"),
                _names_in(names, begins[-1], COMMENT),
            )


def _go_groups(text: bytes, marks: Marks) -> Iterator[Statement]:
    """Yield the packages between the brackets of ``import (…)``."""
    end = 0
    for found in _GO_GROUP.finditer(text):
        if found.start() < end or marks.is_text(found.start()):
            continue
        end = text.find(b")", found.end())
        while end >= 0 and marks.is_text(end):
            end = text.find(b")", end + 1)
        if end < 0:
            return
        for line in _GO_LINE.finditer(text, found.end() - 1, end):
            if not marks.is_text(line.start("module") - 2):  # before the literal
                yield Statement(_text(line["module"]), *line.span("module"))


def _rust_uses(text: bytes, marks: Marks) -> Iterator[Statement]:
    """Yield the paths of ``use a::{b::C, d as e};``, one for each name."""
    end = 0
    for found in _RUST_USE.finditer(text):
        if found.start() < end or marks.is_text(found.start()):
            continue
        tree = _RUST_TREE.match(text, found.end(), found.end() + _MOST_BYTES)
        if tree:
            end = tree.end()
            yield from _rust_paths(_without(COMMENT, tree[0]), tree.start())


def _rust_paths(tree: bytes, offset: int) -> Iterator[Statement]:
    prefixes: list[tuple[str, ...]] = [()]
    path: tuple[str, ...] = ()
    for token in _RUST_TOKEN.finditer(tree):
        sign = token["sign"]
        if sign == b"{":
            prefixes.append(path)
        elif sign == b"}":
            path = prefixes.pop() if len(prefixes) > 1 else ()
        elif sign == b",":
            path = prefixes[-1]
        elif token["word"]:
            word = _text(token["word"])
            if not path or word not in ("self", "*"):
                path = (*path, word)
            if token["more"] is None:
                start, end = token.span("word")
                yield Statement("::".join(path), offset + start, offset + end)


_ECMASCRIPT_READERS = (
    _ecmascript_from,
    _of(rb"(?P<begin>\bimport)\s*" + _LITERAL),
    _of(
        rb"(?P<begin>\b(?:require|(?P<deferred>import))\b)\s*\(\s*"
        + _LITERAL
        + rb"\s*(?:[,)]|as\b)"
    ),
)
_C_READERS = (
    _of(
        rb"^[ \t]*(?P<begin>#)[ \t]*(?:include|import)(?:_next)?[ \t]*(?:<|(?P<relative>\"))[ \t]*"
        rb"(?P<module>[^>\"\n]+?)[ \t]*[>\"]"
    ),
)
_JVM_READERS = (
    _of(
        rb"^[ \t]*(?P<begin>import)[ \t]+(?:static[ \t]+)?(?P<module>[\w$]+(?:\.[\w$]+)*)"
        rb"(?:\.\{(?P<names>[^{}]{0,4000}+)\})?"
    ),
)
_READERS: Mapping[str, tuple[_Reader, ...]] = {
    "python": (
        _python_imports,
        _of(
            rb"(?:^(?P<deferred>[ \t]+)?|;[ \t]*)(?P<begin>from)[ \t]+(?P<module>[\w.]++)[ \t]+"
            rb"import\b[ \t]*(?P<names>\((?:[^()#]++|#[^\n]*+)*+\)"
            rb"|(?>(?:[^\n;\\(]|\\\r?\n){0,4000}))",
            _HASH_COMMENT,
        ),
    ),
    **dict.fromkeys(ECMASCRIPT, _ECMASCRIPT_READERS),
    **dict.fromkeys(C_LIKE, _C_READERS),
    **dict.fromkeys(JVM, _JVM_READERS),
    "go": (
        _of(rb"^(?P<begin>import)[ \t]*(?:[\w.]+[ \t]+)?[\"`](?P<module>[^\"`\n]+)[\"`]"),
        _go_groups,
    ),
    "rust": (
        _rust_uses,
        _of(rb"^[ \t]*(?:pub(?:\([^)\n]*\))?\s+)?(?P<begin>(?P<part>mod))\s+(?P<module>\w+)\s*;"),
        _of(rb"(?P<begin>\bextern\s+crate)\s+(?P<module>\w+)"),
    ),
    "csharp": (
        _of(
            rb"^[ \t]*(?:global[ \t]+)?(?P<begin>using)[ \t]+(?:static[ \t]+)?(?:\w+[ \t]*=[ \t]*)?"
            rb"(?P<module>[A-Za-z_][\w.]*)[ \t]*;"
        ),
    ),
    "php": (
        _of(
            rb"^[ \t]*(?P<begin>use)[ \t]+(?:(?:function|const)[ \t]+)?(?P<module>\\?\w+(?:\\\w+)*)"
            rb"(?:\\\{(?P<names>[^{}]{0,4000}+)\})?"
        ),
        _of(
            rb"(?P<begin>\b(?:require|include)(?:_once)?\b)\s*"
            rb"(?P<relative>\(?\s*(?:__DIR__\s*\.\s*)?(?=[\"']))?[^;\n\"']{0,200}" + _LITERAL
        ),
    ),
    "ruby": (
        _of(
            rb"^[ \t]*(?P<begin>(?P<relative>require_relative)|require|load)\b[ \t]*\(?[ \t]*"
            + _LITERAL
        ),
    ),
    "lua": (_of(rb"(?P<begin>\brequire\b)\s*\(?\s*" + _LITERAL),),
    "elixir": (
        _of(
            rb"^[ \t]*(?P<begin>alias|import|require|use)[ \t]+"
            rb"(?P<module>(?:[A-Z]|__MODULE__)\w*(?:\.\w+)*)(?:\.\{(?P<names>[^{}]{0,4000}+)\})?",
            _HASH_COMMENT,
        ),
    ),
    "swift": (
        _of(
            rb"^[ \t]*(?:@\w+[ \t]+)?(?P<begin>import)[ \t]+"
            rb"(?:(?:struct|class|enum|protocol|func|var|let|typealias)[ \t]+)?(?P<module>[\w.]+)"
        ),
    ),
    "haskell": (
        _of(rb"^(?P<begin>import)\s+(?:safe\s+)?(?:qualified\s+)?(?P<module>[A-Z][\w.']*)"),
    ),
    "bash": (
        _of(
            rb"^[ \t]*(?P<begin>source|\.)[ \t]+[\"']?(?:\$\{?\w+\}?/|\$\([^)\n]*\)/)?"
            rb"(?P<module>[^\s;\"'|&]+)"
        ),
    ),
    "zig": (_of(rb"(?P<begin>@import)\s*\(\s*" + _LITERAL),),
    "dart": (_of(rb"^(?P<begin>import|export)\s+" + _LITERAL),),
    "proto": (_of(rb"^[ \t]*(?P<begin>import)\s+(?:public\s+|weak\s+)?" + _LITERAL),),
    **dict.fromkeys(
        ("css", "scss"), (_of(rb"(?P<begin>@(?:import|use|forward))\s+(?:url\(\s*)?" + _LITERAL),)
    ),
}
