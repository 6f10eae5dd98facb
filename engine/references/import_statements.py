"""The import statements of a text, and what it says of its own name.

Statements are found by patterns, a few for each language, outside of comments and literals.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

_MOST_STATEMENTS = 2000  # of a file
_MOST_NAMES = 200  # of a statement

ECMASCRIPT = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"})
C_LIKE = frozenset({"c", "cpp", "objective-c"})
JVM = frozenset({"java", "kotlin", "scala", "groovy"})


class Statement(NamedTuple):
    """An import of one module."""

    line: int
    module: str  # as it is written, or with dots
    names: tuple[str, ...] = ()  # that are imported from it, where they may be modules
    is_deferred: bool = False  # does not run when the file is loaded
    is_part: bool = False  # declares a part of the module itself: ``mod x;``


class _Found(NamedTuple):
    offset: int
    module: str
    names: tuple[str, ...] = ()
    is_deferred: bool = False
    is_part: bool = False


def _pattern(text: bytes) -> re.Pattern[bytes]:
    return re.compile(text, re.MULTILINE)


_PYTHON = _pattern(
    rb"^([ \t]*)(?:from[ \t]+(\.*[ \t]*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|(?:[^\n\\#;]|\\\n)*)"
    rb"|import[ \t]+((?:[^\n\\#;]|\\\n)*))"
)
_ECMASCRIPT = _pattern(
    rb"(?:\bfrom\s*|(\bimport\s*\(\s*)|\brequire\s*\(\s*|\bimport\s+)([\"'])([^\"'\n]+)\2"
)
_GO = _pattern(rb"^import\s*(?:\(([^)]*)\)|[\w.]*\s*\"([^\"\n]+)\")")
_GO_LINE = _pattern(rb"^\s*[\w.]*\s*\"([^\"\n]+)\"")
_RUST = _pattern(
    rb"^[ \t]*(?:pub(?:\([^)\n]*\))?\s+)?(?:use\s+([^;]{1,4000});|mod\s+(\w+)\s*;"
    rb"|extern\s+crate\s+(\w+))"
)
_JVM = _pattern(rb"^[ \t]*import\s+(?:static\s+)?([\w.$]+(?:\.[*{][^\n;]*)?)")
_CSHARP = _pattern(
    rb"^[ \t]*(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?([A-Za-z_][\w.]*)\s*;"
)
_PHP = _pattern(
    rb"^[ \t]*use\s+(?:function\s+|const\s+)?(\\?\w+(?:\\\w+)+)(?:\\\{([^}]*)\})?"
    rb"|\b(?:require|include)(?:_once)?\b\s*\(?\s*(?:__DIR__\s*\.\s*)?[\"']([^\"'\n]+)[\"']"
)
_RUBY = _pattern(rb"^[ \t]*(require_relative|require|load)\s*\(?\s*[\"']([^\"'\n]+)[\"']")
_ELIXIR = _pattern(
    rb"^[ \t]*(?:alias|import|use|require)\s+([A-Z]\w*(?:\.[A-Z]\w*)*)(?:\.\{([^}]*)\})?"
)
_HASKELL = _pattern(rb"^import\s+(?:safe\s+)?(?:qualified\s+)?([A-Z][\w.]*)")
_INCLUDE = _pattern(rb"^[ \t]*#[ \t]*(?:include|import)[ \t]*([<\"])([^>\"\n]+)[>\"]")
_SWIFT = _pattern(rb"^[ \t]*(?:@testable\s+)?import\s+(?:class\s+|struct\s+|func\s+)?(\w+)")
_LUA = _pattern(rb"\brequire\s*\(?\s*[\"']([^\"'\n]+)[\"']")
_ZIG = _pattern(rb"@import\(\"([^\"\n]+)\"\)")
_BASH = _pattern(
    rb"^[ \t]*(?:source|\.)[ \t]+[\"']?(?:\$\{?\w+\}?/|\$\([^)\n]*\)/)?([\w./-]+)[\"']?"
)

_SPACE = re.compile(rb"\s{0,200}")
_NAMED = re.compile(rb"(\w+)(?:\s+as\s+\w+)?\s*(?:,|$)")
_DOTTED = re.compile(rb"\s*([\w.]+)")

#: What a text says of its own name.
_DECLARED: Mapping[str, re.Pattern[bytes]] = {
    **dict.fromkeys(JVM, _pattern(rb"^\s*package\s+([\w.]+)")),
    "csharp": _pattern(rb"^\s*namespace\s+([\w.]+)"),
    "php": _pattern(rb"^\s*namespace\s+([\w\\]+)\s*[;{]"),
    "elixir": _pattern(rb"^\s*(?:defmodule|defprotocol)\s+([A-Z][\w.]*)"),
    "haskell": _pattern(rb"^module\s+([A-Z][\w.]*)"),
}


def _text(found: bytes) -> str:
    return found.decode("utf-8", "replace")


def _python(text: bytes) -> Iterator[_Found]:
    for found in _PYTHON.finditer(text):
        is_deferred = bool(found[1])
        if found[4] is not None:
            for each in found[4].split(b","):
                if name := _DOTTED.match(each):
                    yield _Found(found.start(), _text(name[1]), (), is_deferred)
            continue
        listed = re.sub(rb"#[^\n]*|[()\\]", b" ", found[3])
        names = tuple(_text(each[1]) for each in _NAMED.finditer(listed.strip()))
        module = _text(found[2]).replace(" ", "")
        yield _Found(found.start(), module, names[:_MOST_NAMES], is_deferred)


def _ecmascript(text: bytes) -> Iterator[_Found]:
    for found in _ECMASCRIPT.finditer(text):
        yield _Found(found.start(), _text(found[3]), (), found[1] is not None)


def _go(text: bytes) -> Iterator[_Found]:
    for found in _GO.finditer(text):
        if found[2] is not None:
            yield _Found(found.start(), _text(found[2]))
            continue
        for line in _GO_LINE.finditer(found[1]):
            yield _Found(found.start(1) + line.start(1) - 1, _text(line[1]))


def _rust(text: bytes) -> Iterator[_Found]:
    for found in _RUST.finditer(text):
        if found[2] is not None:
            yield _Found(found.start(), _text(found[2]), (), False, True)
        elif found[3] is not None:
            yield _Found(found.start(), _text(found[3]))
        else:
            for chain in _chains(re.sub(rb"//[^\n]*", b"", found[1])):
                yield _Found(found.start(), chain)


def _chains(used: bytes) -> Iterator[str]:
    """Yield the paths of a ``use`` with its groups, ``a::{b, c::{d, e}}``, multiplied out."""
    prefixes: list[str] = []
    prefix, word = "", ""
    number = 0
    for letter in re.sub(r"\s+as\s+\w+", "", _text(used)):
        if letter == "{":
            prefixes.append(prefix)
            prefix, word = prefix + word, ""
        elif letter in ",}":
            if word.strip() and number < _MOST_NAMES:
                number += 1
                yield _chain(prefix + word)
            word = ""
            if letter == "}" and prefixes:
                prefix = prefixes.pop()
        else:
            word += letter
    if word.strip():
        yield _chain(prefix + word)


def _chain(written: str) -> str:
    return "".join(written.split()).strip(":").removesuffix("::*")


def _jvm(text: bytes) -> Iterator[_Found]:
    for found in _JVM.finditer(text):
        module, _, rest = _text(found[1]).partition("{")
        if not rest:
            yield _Found(found.start(), module)
        for name in _NAMED.finditer(rest.partition("}")[0].replace("=>", " as ").encode()):
            yield _Found(found.start(), f"{module}{_text(name[1])}")


def _php(text: bytes) -> Iterator[_Found]:
    for found in _PHP.finditer(text):
        if found[3] is not None:
            yield _Found(found.start(), "./" + _text(found[3]).lstrip("/"))
        elif found[2] is None:
            yield _Found(found.start(), _text(found[1]).lstrip("\\"))
        else:
            for name in re.findall(rb"[\w\\]+", found[2])[:_MOST_NAMES]:
                yield _Found(found.start(), f"{_text(found[1]).lstrip(chr(92))}\\{_text(name)}")


def _ruby(text: bytes) -> Iterator[_Found]:
    for found in _RUBY.finditer(text):
        is_relative = found[1] == b"require_relative"
        yield _Found(found.start(), ("./" if is_relative else "") + _text(found[2]))


def _elixir(text: bytes) -> Iterator[_Found]:
    for found in _ELIXIR.finditer(text):
        if found[2] is None:
            yield _Found(found.start(), _text(found[1]))
        else:
            for name in re.findall(rb"[A-Z][\w.]*", found[2])[:_MOST_NAMES]:
                yield _Found(found.start(), f"{_text(found[1])}.{_text(name)}")


def _includes(text: bytes) -> Iterator[_Found]:
    for found in _INCLUDE.finditer(text):
        yield _Found(found.start(), ("" if found[1] == b"<" else "./") + _text(found[2].strip()))


def _plain(pattern: re.Pattern[bytes]) -> Callable[[bytes], Iterator[_Found]]:
    def read(text: bytes) -> Iterator[_Found]:
        return (_Found(found.start(), _text(found[1])) for found in pattern.finditer(text))

    return read


_READERS: Mapping[str, Callable[[bytes], Iterator[_Found]]] = {
    "python": _python,
    **dict.fromkeys(ECMASCRIPT, _ecmascript),
    "go": _go,
    "rust": _rust,
    **dict.fromkeys(JVM, _jvm),
    "csharp": _plain(_CSHARP),
    "php": _php,
    "ruby": _ruby,
    "elixir": _elixir,
    "haskell": _plain(_HASKELL),
    **dict.fromkeys(C_LIKE, _includes),
    "swift": _plain(_SWIFT),
    "lua": _plain(_LUA),
    "zig": _plain(_ZIG),
    "bash": _plain(_BASH),
}


def has_imports(language: str) -> bool:
    """Return whether the import statements of a language are read."""
    return language in _READERS


def statements_of(
    text: bytes, language: str, stretches: Sequence[tuple[int, int]]
) -> list[Statement]:
    """Return the import statements of a text, in order.

    Args:
        text: The text.
        language: Of the text.
        stretches: Of its comments and literals.
    """
    starts = [start for start, _ in stretches]
    statements: list[Statement] = []
    line, last = 1, 0
    for found in _READERS[language](text):
        place = bisect_right(starts, found.offset) - 1
        if place >= 0 and found.offset < stretches[place][1]:
            is_own = starts[place] == found.offset  # its text begins with the literal itself
            if not (is_own and language == "go"):
                continue
        if len(statements) == _MOST_STATEMENTS:
            break
        start = max(_begin_of(text, found.offset), last)
        line += text.count(b"\n", last, start)
        last = start
        statements.append(
            Statement(line, found.module, found.names, found.is_deferred, found.is_part)
        )
    return statements


def _begin_of(text: bytes, offset: int) -> int:
    """Return where the first word behind an offset begins."""
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def declared_in(text: bytes, language: str) -> list[str]:
    """Return the packages, namespaces or modules that a text declares to be."""
    pattern = _DECLARED.get(language)
    return [] if pattern is None else [_text(each) for each in pattern.findall(text)[:50]]
