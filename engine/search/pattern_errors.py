"""Why a pattern is refused: RE2's messages in plain words, with the position and what to do."""

from engine.errors import InvalidQueryError
from engine.search.pattern_syntax import Kind, Token
from engine.search.query import PatternTerm

# What RE2 says → what it means and what to do, {0} being the piece that it names. The first that
# fits counts.
_REFUSALS = (
    ("too large", "the pattern is too large", "shorten it, or repeat fewer times"),
    ("missing )", "this group is not closed", r"add ), or write \( for the character"),
    ("unexpected )", "this ) closes no group", r"write \) for the character"),
    ("missing ]", "this class is not closed", r"add ], or write \[ for the character"),
    ("trailing \\", "a backslash ends the pattern", r"write \\ for the character"),
    ("no argument", "there is nothing before {0} to repeat", r"write \{0} for the character"),
    ("bad repetition", "{0} repeats a repetition", "put the first in a group: (?:…)"),
    (
        "repetition size",
        "the repetition {0} is not possible",
        "at most 1,000 times, repetitions of repetitions multiplied; the smaller number first",
    ),
    (
        "class range",
        "{0} is no class of characters",
        r"classes are a-z, [:alpha:], \pL, \p{{Greek}}",
    ),
    ("capture group", "{0} names no group", "write (?P<name>…), or (?:…) without a name"),
    ("UTF-8", "the pattern is not valid text", r"write \x{{…}} with the character's number"),
)
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_BACK_REFERENCES = (
    "\\1",
    "\\2",
    "\\3",
    "\\4",
    "\\5",
    "\\6",
    "\\7",
    "\\8",
    "\\9",
    "\\k",
    "\\g",
    "(?P",
)
_ESCAPE_HINTS = {
    "\\Z": r"write \z for the end of the text, $ for that of a line",
    "\\u": r"write \x{…} with the character's number",
    "\\x": r"write \x41, or \x{…} with the character's number",
    "\\h": r"write [ \t] for blanks",
    "\\R": r"write \r?\n for a line break",
}
_LINEAR = "patterns are matched in linear time, which leaves these out"


def refusal(said: str, source: str, tokens: list[Token], term: PatternTerm) -> InvalidQueryError:
    """Make the error of a pattern that RE2 refuses.

    Args:
        said: RE2's message: what is wrong, and often the piece of the pattern.
        source: The pattern as it was compiled.
        tokens: Its tokens.
        term: The pattern as it stands in the query.
    """
    piece = said.partition(": ")[2]
    position = term.position_of(_offset_of(said, piece, source, tokens))
    message, hint = _explained(said, piece)
    return InvalidQueryError(message, position=position, hint=hint)


def too_large(term: PatternTerm, *, across_lines: bool) -> InvalidQueryError:
    """Make the error of a pattern that would take too long or too much memory."""
    hint = "shorten it, or repeat fewer times"
    if across_lines:
        hint += r"; without \n and (?s) it may be larger"
    position = term.position_of(0)
    return InvalidQueryError("the pattern is too large", position=position, hint=hint)


def refuse_half_characters(source: str, tokens: list[Token], term: PatternTerm) -> None:
    r"""Refuse ``\C``, which RE2 takes but which splits characters.

    Raises:
        InvalidQueryError: It is there.
    """
    for token in tokens:
        if source[token.start : token.end] == r"\C":
            raise InvalidQueryError(
                r"\C is a byte, which can be a part of a character",
                position=term.position_of(token.start),
                hint="write . for any character, (?s:.) for a line break too",
            )


def _explained(said: str, piece: str) -> tuple[str, str]:
    if piece in _LOOK_AROUND:
        return (
            f"look-around such as {piece}…) is not supported",
            f"{_LINEAR}; match the text around it too, or leave places out by -/pattern/",
        )
    if piece in _BACK_REFERENCES:
        return f"back-references such as {piece} are not supported", _LINEAR
    if "perl operator" in said:
        return f"{piece}…) is no group", "groups are (…), (?:…), (?i:…) and (?P<name>…)"
    if "escape sequence" in said:
        hint = _ESCAPE_HINTS.get(piece[:2], r"a backslash makes punctuation plain: \. \( \\")
        return f"{piece} is no escape", hint
    for part, message, hint in _REFUSALS:
        if part in said:
            return message.format(piece), hint.format(piece)
    return f"the pattern cannot be read: {said}", ""


def _offset_of(said: str, piece: str, source: str, tokens: list[Token]) -> int:
    """Find the piece that RE2 names; for parentheses it names the whole pattern."""
    open_groups = []
    for token in tokens:
        if token.kind is Kind.OPEN:
            open_groups.append(token.start)
        elif token.kind is Kind.CLOSE:
            if not open_groups and "unexpected )" in said:
                return token.start
            open_groups = open_groups[:-1]
    if "missing )" in said and open_groups:
        return open_groups[-1]
    if "trailing" in said:
        return len(source) - 1
    starts = [
        token.start
        for token in tokens
        if source.startswith(piece, token.start) and token.end <= token.start + len(piece)
    ]
    return starts[0] if starts else max(0, source.find(piece))
