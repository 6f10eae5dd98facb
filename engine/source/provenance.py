"""Where a text comes from, in its own words: its licence and the program that wrote it.

Looks at the stored text alone, never at the path, so that equal contents give equal answers.
Everything is bounded, and a substring is looked for before any pattern.
"""

import re
from typing import Final

_HEAD_BYTES: Final = 2048

_SPDX_TAG: Final = b"SPDX-License-Identifier:"
_MAX_EXPRESSION_BYTES: Final = 200
_SPDX_TOKEN: Final = re.compile(r"[()]|[A-Za-z0-9][A-Za-z0-9.+:-]*")
_OPERATORS: Final = frozenset({"AND", "OR", "WITH"})

#: In these languages a text can be a licence itself.
_PROSE: Final = frozenset({"asciidoc", "markdown", "org", "restructuredtext", "text"})
#: One of these stands near the beginning of every licence that is known here.
_SIGNS: Final = (
    b" hereby granted", b"edistribution and use", b"apache.org/licenses", b"GENERAL PUBLIC LICENSE",
    b"General Public License", b"Mozilla Public", b"Eclipse Public", b"unencumbered", b"CC0",
    b"Attribution", b"Boost Software", b"misrepresented", b"Artistic", b"PYTHON SOFTWARE",
    b"SIL O", b"Business Source", b"WHAT THE FUCK",
)  # fmt: skip
_MAX_LICENCE_BYTES: Final = 1 << 16
_MOST_LICENCES: Final = 6
_IGNORED: Final = b"*#>\"'`_|=,"

#: What only this licence says, in lower case, without the characters of ``_IGNORED`` and with
#: single spaces. The titles of the GNU licences stand with their dates: they name each other.
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
#: What a program's name goes on to: the end of the sentence or of the comment, or a preposition.
_NAME_END: Final = re.compile(
    r"""[.;,:!?](?:\s|$) | \s*(?:\*/|-->|\*\)|-\}|\[|\() | \s+[-–—]
    | \s+(?:from|on|at|in|using|with|for|to|and|or|via|during|when|whenever|as|based|which|that
      |please|do|don't|into|out|is|was|if|through|script)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NEAR_MARK_BYTES: Final = 400  # after which "generated by" is about something else
_MAX_NAME: Final = 80  # characters
_MAX_WORDS: Final = 6
#: Words that name no program.
_NOBODY: Final = frozenset(
    "tool tools program script generator codegen code-generator command machine hand default me "
    "you this it by edit".split()
)


def licence_of(text: bytes, language: str) -> str | None:
    """Give the licence that a text states or is, as an SPDX expression; None when it says none.

    Either an ``SPDX-License-Identifier:`` line in the first 2 kB tells it (SPDX specification 2.3,
    annex E), or the text is a document that begins with a licence; several in one document are
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
    return _licence_in(text) if language in _PROSE else None


def generator_of(text: bytes) -> str | None:
    """Give the program that wrote a text, in the words of its generated mark; None when unknown.

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
        if 0 < len(words) <= _MAX_WORDS and words[-1].lower() not in _NOBODY:
            return " ".join(words)
    return None


def _expression_in(written: str) -> str:
    """Give the longest SPDX expression that a line begins with, in its usual form."""
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
    """Recognise the licences whose words a document holds, when one begins in its first lines."""
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
    """Give the licences of a text made plain, with where they begin."""
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
