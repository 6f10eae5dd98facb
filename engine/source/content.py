"""Turn the bytes of a file into text to index, or refuse it; detect licences and generators.

Everything here is a pure function of a name and bytes. Empty, binary, minified and generated files
and Git LFS pointers are recognised, and notebooks become text: their cells in order,
without outputs and images, each under a header such as ``# %% [python] cell 3`` (the percent format
that editors know) and separated by an empty line.

Licences and generators are read from the stored text alone, never from the path, so that equal
contents give equal results. All work is bounded, and a substring is searched for before any
pattern. Decoding is in ``encodings``, languages are in ``syntax.languages``, redaction in
``secrets``.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from engine.records import Skip, SkipReason
from engine.source import encodings
from engine.source.file_formats import DOCUMENTS

_HEAD_BYTES: Final = 2048

_SPDX_TAG: Final = b"SPDX-License-Identifier:"
_MAX_EXPRESSION_BYTES: Final = 200
_SPDX_TOKEN: Final = re.compile(r"[()]|[A-Za-z0-9][A-Za-z0-9.+:-]*")
_OPERATORS: Final = frozenset({"AND", "OR", "WITH"})

#: Languages in which a text can itself be a licence.
_PROSE_LANGUAGES: Final = frozenset({"asciidoc", "markdown", "org", "restructuredtext", "text"})
#: Every licence known here has one of these near its beginning.
_SIGNS: Final = (
    b" hereby granted", b"edistribution and use", b"apache.org/licenses", b"GENERAL PUBLIC LICENSE",
    b"General Public License", b"Mozilla Public", b"Eclipse Public", b"unencumbered", b"CC0",
    b"Attribution", b"Boost Software", b"misrepresented", b"Artistic", b"PYTHON SOFTWARE",
    b"SIL O", b"Business Source", b"WHAT THE FUCK",
)  # fmt: skip
_MAX_LICENCE_BYTES: Final = 1 << 16
_MOST_LICENCES: Final = 6
_IGNORED: Final = b"*#>\"'`_|=,"

#: Phrases unique to a licence, in lower case, without the characters of ``_IGNORED`` and with
#: single spaces. The GNU licences are matched by title and date because they name each other.
_PHRASES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"apache license version 2.0 january 2004", "Apache-2.0"),
    (b"licensed under the apache license version 2.0 (the license)", "Apache-2.0"),
    (b"gnu general public license version 2 june 1991", "GPL-2.0"),
    (b"gnu general public license version 3 29 june 2007", "GPL-3.0"),
    (b"gnu library general public license version 2 june 1991", "LGPL-2.0"),
    (b"gnu lesser general public license version 2.1 february 1999", "LGPL-2.1"),
    (b"gnu lesser general public license version 3 29 june 2007", "LGPL-3.0"),
    (b"gnu affero general public license version 3 19 november 2007", "AGPL-3.0"),
    (b"mozilla public license version 2.0 1. definitions", "MPL-2.0"),
    (b"subject to the terms of the mozilla public license v. 2.0", "MPL-2.0"),
    (b"eclipse public license - v 1.0 the accompanying program", "EPL-1.0"),
    (b"eclipse public license - v 2.0 the accompanying program", "EPL-2.0"),
    (b"free and unencumbered software released into the public domain", "Unlicense"),
    (b"cc0 1.0 universal", "CC0-1.0"),
    (b"creative commons attribution 4.0 international public license", "CC-BY-4.0"),
    (b"creative commons attribution-sharealike 4.0 international public", "CC-BY-SA-4.0"),
    (b"boost software license - version 1.0", "BSL-1.0"),
    (b"the origin of this software must not be misrepresented", "Zlib"),
    (b"the artistic license 2.0 copyright", "Artistic-2.0"),
    (b"python software foundation license version 2 -", "Python-2.0"),
    (b"sil open font license version 1.1 -", "OFL-1.1"),
    (b"business source license 1.1", "BUSL-1.1"),
    (b"do what the fuck you want to public license", "WTFPL"),
)
_MIT: Final = b"permission is hereby granted free of charge to any person obtaining a copy"
_MIT_CONDITION: Final = b"permission notice shall be included in all copies"
_ISC: Final = re.compile(
    rb"permission to use copy modify (?:and/or|and|or) distribute this software for any purpose "
    rb"with or without fee is hereby granted(?P<condition> provided that the above copyright)?"
)
_BSD: Final = b"redistribution and use in source and binary forms with or without modification"
_BSD_ENDORSEMENT: Final = b"endorse or promote products derived from this software"
_BSD_ADVERTISING: Final = b"all advertising materials mentioning features"
_NEAR_BYTES: Final = 3000  # within which the conditions of a short licence follow

#: A comment in which a generator marks its file. Lines are bounded so that the search is linear.
GENERATED_MARK: Final = re.compile(
    rb"""^[ \t]*(?:\#+|/[/*]+!?|\*+|--+|;+|<!--|%+|"+|'+|\(\*|\{-|dnl\b|rem\b|@rem\b)
    (?:
      [^\n]{0,200}?(?:
        @generated\b | \bDO\ NOT\ (?-i:EDIT|MODIFY|CHANGE)\b
        | \bauto(?:matically)?[ -]?generated\s+(?:by|from|file|code|using|with|on|at)\b
        | \b(?:file|code|class|module|header|document|script)\s+(?:is|was|has\ been|are)\s+
          (?:\w+[ -])?(?:auto)?-?generated\b
      )
      | [ \t]*(?:auto)?-?generated\s+(?:by|from|with|using)\b
    )""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_WRITTEN_BY: Final = re.compile(
    rb"""(?:\b|auto)generated[ \t]+(?:automatically[ \t]+)?(?:by|with|using)\b[ \t]*
    (?:\r?\n[ \t]*[#*/;-]{1,3}[ \t]*)?(?:(?:running|executing|invoking|the|an?)\b[ \t]*)*
    (?P<quote>["'`]?)(?P<name>[\w/.@$~\x80-\xff][^\n"'`<>]{0,150})""",
    re.VERBOSE | re.IGNORECASE,
)
#: The end of a program's name: the end of the sentence or comment, or a following word.
_NAME_END: Final = re.compile(
    r"""[.;,:!?](?:\s|$) | \s*(?:\*/|-->|\*\)|-\}|\[|\() | \s+[-–—]
    | \s+(?:from|on|at|in|using|with|for|to|and|or|via|during|when|whenever|as|based|which|that
      |please|do|don't|into|out|is|was|if|through|script)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NEAR_MARK_BYTES: Final = 400  # after which "generated by" is about something else
_MAX_NAME: Final = 80  # characters
_MAX_WORDS: Final = 6
#: Words that do not name a program.
_NOT_PROGRAMS: Final = frozenset(
    "tool tools program script generator codegen code-generator command machine hand default me "
    "you this it by edit".split()
)

#: The language whose files are notebooks.
NOTEBOOK_LANGUAGE: Final = "jupyter"

_KINDS: Final = frozenset({"code", "markdown", "raw", "heading"})
_LANGUAGE: Final = re.compile(r"[\w.+#-]{1,40}", re.ASCII)
_USUAL_LANGUAGE: Final = "python"
_PICTURE: Final = re.compile(r"(data:[\w.+/-]{1,60};base64,)[A-Za-z0-9+/=\s]{64,}", re.ASCII)
_MAX_HEADING: Final = 6

_LFS_START = b"version https://git-lfs.github.com/spec/"
_LFS_MAX_BYTES = 1024

#: Above this size a file is minified if nearly all of it is in lines that nobody types. Code
#: around one embedded picture or data set stays: it can be a module of 500 lines.
_MINIFIED_MIN_BYTES = 5000
_AVERAGE_LINE_BYTES = 500
_LONG_LINE_BYTES = 1000
_LONG_LINES_SHARE = 0.9

#: Languages in which a line can be a paragraph; refused only if no person can have written it.
_PROSE = frozenset(
    {"asciidoc", "latex", "markdown", "org", "plaintext", "restructuredtext", "rst", "tex", "text"}
)
_PROSE_MIN_BYTES = 50_000
_PROSE_AVERAGE_LINE_BYTES = 10_000

_SOURCE_MAP_HEAD = re.compile(rb'\s*\{[^\0]{0,200}?"(?:version|mappings|sources|file)"')

_GENERATED_HEAD_BYTES = 2048
_GENERATED_NAME = re.compile(
    r"""(?:
      _pb2(?:_grpc)?\.pyi? | \.pb(?:\.gw)?\.(?:go|cc|h|swift|dart|c) | _pb\.(?:js|d\.ts|rb)
    | \.(?:g|freezed|gr|mocks|pbenum|pbjson|pbserver)\.dart
    | \.(?:designer|g|g\.i|generated)\.(?:cs|vb)
    | (?:\.gen|[._]generated)\.(?:go|ts|tsx|js|py|rs|kt|swift|java|c|h|cc|cpp)
    | \.tab\.[ch] | (?:^|/)(?: zz_generated[^/]*\.go | lex\.yy\.c | __generated__/.* )
    )\Z""",
    re.IGNORECASE | re.VERBOSE,
)


def licence_of(text: bytes, language: str) -> str | None:
    """Return the licence that a text declares or contains, as an SPDX expression, or None.

    It comes from an ``SPDX-License-Identifier:`` line in the first 2 kB (SPDX specification 2.3,
    annex E), or from a document that begins with a licence; several in one document are
    joined by ``AND``. About 0.5 µs for code, 8 µs for a document that is no licence.

    Args:
        text: Valid UTF-8.
        language: As ``syntax.languages`` names it.
    """
    at = text.find(_SPDX_TAG, 0, _HEAD_BYTES)
    if at >= 0:
        start = at + len(_SPDX_TAG)
        written = text[start : start + _MAX_EXPRESSION_BYTES].split(b"\n", 1)[0]
        expression = _expression_in(written.decode("utf-8", "replace"))
        if expression:
            return expression
    return _licence_in(text) if language in _PROSE_LANGUAGES else None


def generator_of(text: bytes) -> str | None:
    """Return the name of the generator in a text's generated mark, or None if unknown.

    Args:
        text: Valid UTF-8 that is known to be generated.
    """
    head = text[:_HEAD_BYTES]
    mark = GENERATED_MARK.search(head)
    if mark is None:
        return None
    for found in _WRITTEN_BY.finditer(head, mark.start(), mark.end() + _NEAR_MARK_BYTES):
        name = found["name"].decode("utf-8", "replace")
        if not found["quote"]:
            name = _NAME_END.split(name, maxsplit=1)[0]
        name = "".join(letter for letter in name if letter.isprintable()).strip(" .*/-")
        words = name[:_MAX_NAME].split()
        if 0 < len(words) <= _MAX_WORDS and words[-1].lower() not in _NOT_PROGRAMS:
            return " ".join(words)
    return None


def _expression_in(written: str) -> str:
    """Return the longest SPDX expression at the start of a line, normalised."""
    tokens: list[str] = []
    complete = 0  # tokens up to the last place where the expression could end
    depth = 0
    needs_operand = True
    position = 0
    for token in _SPDX_TOKEN.finditer(written):
        word = token.group()
        if written[position : token.start()].strip():
            break
        position = token.end()
        is_operator = word.upper() in _OPERATORS
        if (word == "(" or not (is_operator or word == ")")) != needs_operand:
            break
        if word in "()":
            depth += 1 if word == "(" else -1
            if depth < 0:
                break
        else:
            needs_operand = is_operator
        tokens.append(word.upper() if is_operator else word)
        if not needs_operand and depth == 0:
            complete = len(tokens)
    return " ".join(tokens[:complete]).replace("( ", "(").replace(" )", ")")


def _licence_in(text: bytes) -> str | None:
    """Return the licences that a document quotes, if one begins in its first lines."""
    for sign in _SIGNS:
        if text.find(sign, 0, _HEAD_BYTES) >= 0:
            break
    else:
        return None
    if not _licences_of(_plain(text[:_HEAD_BYTES])):
        return None
    found = sorted(_licences_of(_plain(text[:_MAX_LICENCE_BYTES])).items(), key=_position)
    return " AND ".join(name for name, _ in found[:_MOST_LICENCES])


def _position(found: tuple[str, int]) -> int:
    return found[1]


def _plain(text: bytes) -> bytes:
    return b" ".join(text.translate(None, _IGNORED).lower().split())


def _licences_of(plain: bytes) -> dict[str, int]:
    """Return the licences in a normalised text, with their offsets."""
    found: dict[str, int] = {}
    for phrase, name in _PHRASES:
        at = plain.find(phrase)
        if at >= 0:
            found.setdefault(name, at)
    at = plain.find(_MIT)
    if at >= 0:
        is_mit = plain.find(_MIT_CONDITION, at, at + _NEAR_BYTES) >= 0
        found["MIT" if is_mit else "MIT-0"] = at
    isc = _ISC.search(plain)
    if isc is not None:
        found["ISC" if isc["condition"] else "0BSD"] = isc.start()
    at = plain.find(_BSD)
    if at >= 0:
        found[_bsd_of(plain[at : at + _NEAR_BYTES])] = at
    return found


def _bsd_of(terms: bytes) -> str:
    if _BSD_ADVERTISING in terms:
        return "BSD-4-Clause"
    return "BSD-3-Clause" if _BSD_ENDORSEMENT in terms else "BSD-2-Clause"


def notebook_text(text: bytes) -> bytes | None:
    """Return the cells of a notebook as text, or None if it cannot be read.

    Reads the formats 4 and 3 (nbformat). Never fails, whatever the text.

    Args:
        text: The JSON of the file, valid UTF-8.
    """
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = _cells_of(notebook)
    if cells is None:
        return None
    usual = _language_of(notebook)
    pieces: list[str] = []
    for number, cell in enumerate(cells, 1):
        kind = cell.get("cell_type")
        if not isinstance(kind, str) or kind not in _KINDS:
            continue
        source = _source_of(cell).strip("\n")
        if not source.strip():
            continue
        language = kind
        if kind == "code":
            language = _named(cell.get("language")) or usual
        elif kind == "heading":  # format 3
            language, source = "markdown", f"{'#' * _level_of(cell)} {source}"
        pieces.append(f"# %% [{language}] cell {number}\n{source}\n")
    # Escapes can name half a surrogate pair, which no encoding has.
    return "\n".join(pieces).encode("utf-8", "replace")


def _cells_of(notebook: Any) -> Iterator[dict[str, Any]] | None:
    """Return the cells, or None if this is no notebook."""
    if not isinstance(notebook, dict):
        return None
    lists = [notebook.get("cells")]
    if isinstance(notebook.get("worksheets"), list):
        sheets = notebook["worksheets"]
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    if not all(isinstance(cells, list) for cells in lists):
        return None
    return (cell for cells in lists for cell in cells or () if isinstance(cell, dict))


def _language_of(notebook: dict[str, Any]) -> str:
    """Return the language of the code cells, as the kernel names it."""
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict):
        for place, key in (("language_info", "name"), ("kernelspec", "language")):
            facts = metadata.get(place)
            named = _named(facts.get(key)) if isinstance(facts, dict) else None
            if named:
                return named
    return _USUAL_LANGUAGE


def _named(value: object) -> str | None:
    if isinstance(value, str) and _LANGUAGE.fullmatch(value):
        return value.lower()
    return None


def _source_of(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list):
        source = "".join([line for line in source if isinstance(line, str)])
    if not isinstance(source, str):
        return ""
    if ";base64," in source:
        source = _PICTURE.sub(r"\1", source)
    return source.replace("\r\n", "\n").replace("\0", "")


def _level_of(cell: dict[str, Any]) -> int:
    level = cell.get("level")
    return min(max(level, 1), _MAX_HEADING) if isinstance(level, int) else 1


class Inspected(NamedTuple):
    """Text to be indexed."""

    text: bytes  # valid UTF-8 without a byte order mark; line breaks as in the file (or notebook)
    encoding: str  # of the file, as Python names it
    generated: bool  # written by a program, according to its name or content


def inspect(path: str, data: bytes, language: str) -> Inspected | Skip:
    """Return the text of a file to index, or a skip with the reason.

    The text of a notebook is that of its cells, the text of a document that of its pages.

    Linear in the size; about 11 µs for 10 kB of ASCII. The outcome depends on the arguments alone,
    so a skip may be stored with the file's stat.

    Args:
        path: Its name may identify a generated file; also used in the skip.
        data: The whole file.
        language: As ``syntax.languages`` names it; prose may have long lines.

    Returns:
        The text; else a skip that is ``LFS_POINTER``, ``BINARY``, ``UNDECODABLE`` or ``MINIFIED``;
        of a document ``NO_TEXT`` or ``MISSING_EXTRA``.
    """
    if language in DOCUMENTS:
        return _inspect_document(path, data, language)
    if not data:
        return Inspected(b"", "utf-8", False)
    if len(data) < _LFS_MAX_BYTES and data.startswith(_LFS_START):
        return Skip(path, SkipReason.LFS_POINTER, "stored in Git LFS, only its pointer is here")
    decoded = encodings.decode(data)
    if decoded is SkipReason.BINARY:
        return Skip(path, SkipReason.BINARY, "not text")
    if isinstance(decoded, SkipReason):
        return Skip(path, decoded, "unknown text encoding")
    text, encoding = decoded
    if language == NOTEBOOK_LANGUAGE:
        cells = notebook_text(text)
        text = text if cells is None else cells
    minified = _minified_by(path, text, language)
    if minified:
        return Skip(path, SkipReason.MINIFIED, minified)
    return Inspected(text, encoding, _is_generated(path, text))


def _inspect_document(path: str, data: bytes, language: str) -> Inspected | Skip:
    """Return the text of a document, or why it has none."""
    from engine.source.documents import NoTextError, document_text, missing_package

    if len(data) < _LFS_MAX_BYTES and data.startswith(_LFS_START):
        return Skip(path, SkipReason.LFS_POINTER, "stored in Git LFS, only its pointer is here")
    missing = missing_package(language)
    if missing:
        return Skip(path, SkipReason.MISSING_EXTRA, missing)
    try:
        return Inspected(document_text(data, language), "utf-8", False)
    except NoTextError as error:
        return Skip(path, SkipReason.NO_TEXT, str(error))


def _minified_by(path: str, text: bytes, language: str) -> str:
    """Return the sign that a text is minified or otherwise not for people, or an empty string."""
    if path.endswith(".map") and _SOURCE_MAP_HEAD.match(text):
        return "a source map"
    size_bytes = len(text)
    if size_bytes <= _MINIFIED_MIN_BYTES:
        return ""
    line_break = b"\n" if b"\n" in text else b"\r"
    average_bytes = size_bytes // (text.count(line_break) + 1)
    if language in _PROSE:
        extreme = size_bytes > _PROSE_MIN_BYTES and average_bytes > _PROSE_AVERAGE_LINE_BYTES
        return f"lines of {average_bytes} bytes on average" if extreme else ""
    if average_bytes > _AVERAGE_LINE_BYTES:
        return f"lines of {average_bytes} bytes on average"
    long_bytes = _bytes_in_long_lines(text, line_break)
    if long_bytes > size_bytes * _LONG_LINES_SHARE:
        return f"{long_bytes} of {size_bytes} bytes in lines longer than {_LONG_LINE_BYTES}"
    return ""


def _bytes_in_long_lines(text: bytes, line_break: bytes) -> int:
    """Count the bytes in lines longer than ``_LONG_LINE_BYTES``, one look per that many bytes."""
    total = 0
    start = 0  # of a line
    size_bytes = len(text)
    while size_bytes - start > _LONG_LINE_BYTES:
        last = text.rfind(line_break, start, start + _LONG_LINE_BYTES + 1)
        if last >= 0:
            start = last + 1
            continue
        end = text.find(line_break, start + _LONG_LINE_BYTES)
        if end < 0:
            end = size_bytes
        total += end - start
        start = end + 1
    return total


def _is_generated(path: str, text: bytes) -> bool:
    head = text[:_GENERATED_HEAD_BYTES]
    if (b"enerated" in head or b"DO NOT " in head) and GENERATED_MARK.search(head):
        return True
    return _GENERATED_NAME.search(path) is not None
