"""Import statements of many languages: the modules that they name, and what from them.

The marks of references have the imported names only; a filter also asks for modules, such as
``numpy``, ``app.session``, ``tmux.h`` or ``github.com/spf13/cobra``. So the statements are read
from the text, by one pattern a language, outside of comments and literals.
"""

import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from engine.references.sources import Source

_ECMASCRIPT = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"})
_C = frozenset({"c", "cpp", "objective-c"})
#: Here a dot is a part of the name of a module.
_BY_SLASHES = _ECMASCRIPT | _C | {"go", "bash", "ruby", "zig", "proto", "css", "scss", "dart"}
_SEPARATORS = re.compile(r"::|[./\\]")
_SLASHES = re.compile(r"[/\\]")
_SOURCE_ENDING = re.compile(
    r"\.(?:[cm]?[jt]sx?|d\.ts|vue|svelte|astro|py|pyi|go|rs|java|kts?|scala|cs|php|rb|lua|exs?"
    r"|swift|hs|sh|zig|dart|proto|s?css)$"
)
_HEADER_ENDING = re.compile(r"\.(?:h|hh|hpp|hxx|inc)$")
_WORD = re.compile(rb"[\w$]+")


class Imported(NamedTuple):
    """What an import statement names."""

    start: int  # of its text, in bytes
    end: int
    written: str  # the module as it stands there
    segments: tuple[str, ...]  # of the module, of a relative one from the root on
    name: str = ""  # that is imported from the module
    is_whole: bool = False  # the segments begin at the root of the project


def imports_of(source: Source) -> Iterator[Imported]:
    """Yield what the import statements of a file name."""
    read = _READERS.get(source.language)
    for statement, reader in read or ():
        for match in statement.finditer(source.text):
            if not (source.is_marked and source.marks.is_text(match.start("begin"))):
                yield from reader(source, match)


def module_word(asked: str) -> str:
    """Return the text that a file must have to import a module: the last part of its name."""
    bare = _bare(asked)
    bare = _HEADER_ENDING.sub("", _SOURCE_ENDING.sub("", bare))
    words = [part for part in _SEPARATORS.split(bare) if part not in ("", "*")]
    return words[-1] if words else ""


def is_asked_module(asked: str, imported: Imported, language: str) -> bool:
    """Return whether an import is of a module, or of a name in it.

    A relative module (``./session``) is compared as it is written. Of any other, the first parts
    (``numpy`` of ``numpy.linalg``), the last ones (``session`` of ``app.session``), or two and more
    in the middle are enough.
    """
    bare = _bare(asked)
    if bare.startswith("."):
        return _literal(bare, language) in (
            _literal(imported.written, language),
            _literal(_joined(imported), language),
        )
    wanted = _segments(bare, language)
    if not wanted:
        return False
    size = len(wanted)
    module = imported.segments
    if module[-size:] == wanted or (imported.name and (*module, imported.name)[-size:] == wanted):
        return True
    if size == 1:
        return not imported.is_whole and module[:1] == wanted
    return any(module[at : at + size] == wanted for at in range(len(module) - size + 1))


def _bare(asked: str) -> str:
    return asked.strip().strip("<>\"'").rstrip("/")


def _joined(imported: Imported) -> str:
    """Return ``.session`` for ``from . import session``."""
    is_dots = not imported.written.strip(".")
    return imported.written + ("" if is_dots else ".") + imported.name


def _literal(written: str, language: str) -> str:
    if language in _ECMASCRIPT:
        return _SOURCE_ENDING.sub("", written).removesuffix("/index").rstrip("/")
    return written


def _segments(written: str, language: str) -> tuple[str, ...]:
    """Return the parts of the name of a module."""
    if language in _BY_SLASHES:
        bare = written if language in _C else _without_ending(written)
        parts = _SLASHES.split(bare.removeprefix("node:"))
        if language in _C:
            parts[-1] = _HEADER_ENDING.sub("", parts[-1])
    else:
        parts = _SEPARATORS.split(_without_ending(written) if "/" in written else written)
    return tuple(
        part for part in parts if part not in ("", ".", "..", "*", "crate", "self", "super")
    )


def _without_ending(path: str) -> str:
    return _SOURCE_ENDING.sub("", path).removesuffix("/index").removesuffix("/__init__")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _module(source: Source, match: re.Match[bytes]) -> Iterator[Imported]:
    """Yield the module of a statement, and the names in braces behind it."""
    written = _text(match["module"])
    segments, is_whole = _resolved(written, source)
    yield Imported(*match.span("module"), written, segments, is_whole=is_whole)
    names = match.groupdict().get("names")
    if names:
        for name in _WORD.finditer(names):
            start = match.start("names") + name.start()
            end = match.start("names") + name.end()
            yield Imported(start, end, written, segments, _text(name[0]), is_whole)


def _resolved(written: str, source: Source) -> tuple[tuple[str, ...], bool]:
    """Return the parts of a module, of a relative one from the root of the project on."""
    language = source.language
    if language in _BY_SLASHES and written.startswith("."):
        joined = os.path.normpath(f"{os.path.dirname(source.path)}/{written}").lstrip("/")
        return _segments(joined, language), True
    return _segments(written, language), False


def _python_import(source: Source, match: re.Match[bytes]) -> Iterator[Imported]:
    """Yield the modules of ``import a.b as c, d``."""
    for each in re.finditer(rb"([\w.]+)(?:[ \t]+as[ \t]+\w+)?", match["modules"]):
        start = match.start("modules") + each.start()
        written = _text(each[1])
        yield Imported(start, start + len(each[1]), written, tuple(written.split(".")))


def _python_from(source: Source, match: re.Match[bytes]) -> Iterator[Imported]:
    """Yield the module of ``from a.b import (c as d, e)``, and the names."""
    written = _text(match["module"])
    name = written.lstrip(".")
    segments = tuple(each for each in name.split(".") if each)
    level = len(written) - len(name)
    if level:
        folders = source.path.split("/")[:-1]
        segments = (*folders[: max(0, len(folders) - level + 1)], *segments)
    yield Imported(*match.span("module"), written, segments, is_whole=level > 0)
    names = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), match["names"])
    for each in re.finditer(rb"(\w+)(?:\s+as\s+\w+)?", names):
        start = match.start("names") + each.start()
        end = start + len(each[1])
        yield Imported(start, end, written, segments, _text(each[1]), level > 0)


def _ecmascript_from(source: Source, match: re.Match[bytes]) -> Iterator[Imported]:
    """Yield the module of ``import X, {a as b, type C} from "…"``, and the names."""
    written = _text(match["module"])
    segments, is_whole = _resolved(written, source)
    yield Imported(*match.span("module"), written, segments, is_whole=is_whole)
    pattern = rb"(?:\btype\s+)?([\w$]+)(?:\s+as\s+[\w$]+)?"
    for each in re.finditer(pattern, match["names"]):
        start, end = (match.start("names") + at for at in each.span(1))
        yield Imported(start, end, written, segments, _text(each[1]), is_whole)


def _go_group(source: Source, match: re.Match[bytes]) -> Iterator[Imported]:
    """Yield the packages between the brackets of ``import (…)``."""
    for each in re.finditer(rb'(?m)^\s*(?:[\w.]+\s+)?["`]([^"`\n]+)["`]', match["modules"]):
        start, end = (match.start("modules") + at for at in each.span(1))
        written = _text(each[1])
        yield Imported(start, end, written, _segments(written, "go"))


def _rust_use(source: Source, match: re.Match[bytes]) -> Iterator[Imported]:
    """Yield the paths of ``use a::{b::C, d as e};``."""
    text, base = match["tree"], match.start("tree")
    prefixes: list[tuple[str, ...]] = [()]
    path: tuple[str, ...] = ()
    for token in re.finditer(rb"as\s+\w+|[\w*]+|::|[{},]", text):
        word = _text(token[0])
        if word == "{":
            prefixes.append(path)
        elif word == "}":
            path = prefixes.pop() if len(prefixes) > 1 else ()
        elif word == ",":
            path = prefixes[-1]
        elif word != "::" and not re.match(r"as\s", word):
            segments = path if word in ("crate", "self", "super", "*") else (*path, word)
            start, end = base + token.start(), base + token.end()
            if segments and not re.match(rb"\s*::", text[token.end() :][:20]):
                written = "::".join(segments)
                yield Imported(start, end, written, segments[:-1], segments[-1])
            path = segments


_Reader = Callable[[Source, re.Match[bytes]], Iterator[Imported]]
_Readers = tuple[tuple[re.Pattern[bytes], _Reader], ...]


def _of(pattern: bytes, reader: _Reader = _module) -> tuple[re.Pattern[bytes], _Reader]:
    return re.compile(pattern, re.MULTILINE), reader


_LITERAL = rb"[\"'](?P<module>[^\"'\n]+)[\"']"
_ECMASCRIPT_READERS: _Readers = (
    _of(
        rb"(?P<begin>\b(?:import|export)\b)(?P<names>[^;\"'`()=]{0,4000}?)\bfrom\s*" + _LITERAL,
        _ecmascript_from,
    ),
    _of(rb"(?P<begin>\bimport\b)\s*" + _LITERAL),
    _of(rb"(?P<begin>\b(?:require|import)\b)\s*\(\s*" + _LITERAL + rb"\s*[,)]"),
)
_C_READERS: _Readers = (
    _of(
        rb"^[ \t]*(?P<begin>#)[ \t]*(?:include|import)(?:_next)?[ \t]*[<\"]"
        rb"(?P<module>[^>\"\n]+)[>\"]"
    ),
)
_DOTTED: _Readers = (
    _of(
        rb"^[ \t]*(?P<begin>import)[ \t]+(?:static[ \t]+)?(?P<module>[\w.]+\w)"
        rb"(?:\.\{(?P<names>[^{}]{0,4000})\})?"
    ),
)
_READERS: dict[str, _Readers] = {
    "python": (
        _of(
            rb"(?:^|;)[ \t]*(?P<begin>from)[ \t]+(?P<module>\.*[\w.]*)[ \t]+import[ \t]*"
            rb"(?P<names>\([^()]{0,4000}\)|(?:[^\n;\\]|\\\r?\n){0,4000})",
            _python_from,
        ),
        _of(rb"(?:^|;)[ \t]*(?P<begin>import)[ \t]+(?P<modules>[\w., \t\\]+)", _python_import),
    ),
    **dict.fromkeys(_ECMASCRIPT, _ECMASCRIPT_READERS),
    **dict.fromkeys(_C, _C_READERS),
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), _DOTTED),
    "go": (
        _of(rb'^(?P<begin>import)[ \t]+(?:[\w.]+[ \t]+)?["`](?P<module>[^"`\n]+)["`]'),
        _of(rb"^(?P<begin>import)[ \t]*\((?P<modules>[^()]{0,100000})\)", _go_group),
    ),
    "rust": (
        _of(rb"(?P<begin>\buse)\s+(?P<tree>[^;=()]{1,4000});", _rust_use),
        _of(rb"(?P<begin>\bextern\s+crate)\s+(?P<module>\w+)"),
    ),
    "csharp": (
        _of(
            rb"^[ \t]*(?:global[ \t]+)?(?P<begin>using)[ \t]+(?:static[ \t]+)?(?:\w+[ \t]*=[ \t]*)?"
            rb"(?P<module>[\w.]+)[ \t]*;"
        ),
    ),
    "php": (
        _of(
            rb"^[ \t]*(?P<begin>use)[ \t]+(?:(?:function|const)[ \t]+)?(?P<module>\\?\w+(?:\\\w+)*)"
            rb"(?:\\\{(?P<names>[^{}]{0,4000})\})?"
        ),
        _of(rb"(?P<begin>\b(?:require|include)(?:_once)?\b)[^;\n\"']{0,200}" + _LITERAL),
    ),
    "ruby": (_of(rb"^[ \t]*(?P<begin>require(?:_relative)?|load)\b[ \t]*\(?[ \t]*" + _LITERAL),),
    "lua": (_of(rb"(?P<begin>\brequire\b)\s*\(?\s*" + _LITERAL),),
    "elixir": (
        _of(
            rb"^[ \t]*(?P<begin>alias|import|require|use)[ \t]+(?P<module>\w+(?:\.\w+)*)"
            rb"(?:\.\{(?P<names>[^{}]{0,4000})\})?"
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
    "bash": (_of(rb"^[ \t]*(?P<begin>source|\.)[ \t]+[\"']?(?P<module>[^\s;\"'|&]+)"),),
    "zig": (_of(rb"(?P<begin>@import)\s*\(\s*" + _LITERAL),),
    "dart": (_of(rb"^(?P<begin>import|export)\s+" + _LITERAL),),
    "proto": (_of(rb"^[ \t]*(?P<begin>import)\s+(?:public\s+|weak\s+)?" + _LITERAL),),
    **dict.fromkeys(
        ("css", "scss"), (_of(rb"(?P<begin>@(?:import|use|forward))\s+(?:url\(\s*)?" + _LITERAL),)
    ),
}
