"""Values that are secrets because of where they stand: after ``password =``, in a URL, in a header.

What stands there counts only when ``secret_values`` says that it is neither a word nor a
placeholder. Each ``:`` and ``=`` of a text is looked at once, also one inside a value: the patterns
begin with that byte and look ahead. All repeats are bounded or possessive.
"""

import re

from engine.source.secret_tokens import Spans
from engine.source.secret_values import is_password, is_random

#: A literal of 12 bytes or more: "", '', ``, b"", @"" and the like, and \"\" in another literal.
_LITERAL = (
    rb"\"(?P<double>[^\s\"\\]{12,512}+)(?=\\?\")|'(?P<single>[^\s'\\]{12,512}+)(?=\\?')"
    rb"|`(?P<back>[^\s`\\]{12,512}+)(?=`)|\\\"(?P<escaped>[^\s\"\\]{12,512}+)(?=\\\")"
    rb"|[bBrRuUfFLN@$&]{1,2}[\"'](?P<prefixed>[^\s\"'\\]{12,512}+)(?=[\"'])"
)
#: A value without quotes, with a digit, that is not the start of a longer expression.
_BARE = (
    rb"(?=[A-Za-z_+/@!#%^&*~?-]{0,60}+[0-9])"
    rb"(?P<bare>[\w+/-]{16,256}+(?=&)"  # in the query of a URL
    rb"|[^\s\"'`$(){}<>\[\]\\;,|:=]{12,256}+={0,2}+(?![(\[{<$:=]))"
)
#: The kinds of values that only a name before them makes secret.
_NAMED = frozenset({"double", "single", "back", "escaped", "prefixed", "bare"})
#: At the end of a line a bare value may be anything, elsewhere only what keys are made of.
_LINE_ENDS = (b"", b"\n", b"\r")
_DOTTED_NAME = re.compile(rb"[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)+\Z")
_BARE_KEY = re.compile(rb"[\w+/-]{16,}={0,2}\Z")

_AFTER_COLON = re.compile(
    rb":(?=[ \t]*+(?:%b" % _LITERAL
    + rb"|//[^\s/:@\"'`<>\\]{0,200}+:(?P<url>[^\s/@\"'`<>\\]{3,200}+)@"  # ://user:password@host
    + rb"|bearer (?P<header>[\w.~+/-]{16,2000}+={0,2})"
    + rb"|(?P<telegram>AA[\w-]{33})(?![\w-])"  # the number of the bot stands before the colon
    + rb"|%b))" % _BARE
)
_BOT_NUMBER = re.compile(rb"(?<![0-9])[0-9]{8,10}:\Z")
_BOT_NUMBER_BYTES = 12

_AFTER_EQUALS = re.compile(
    rb"=(?=>?[ \t]*+(?:%b|%b)" % (_LITERAL, _BARE)
    + rb"|(?<=d=)(?<=[Pp]assword=)(?P<part>[^\s\"'`$(){}<>\[\]\\;]{6,11}+);)"
)
#: One of the words that a connection string has before its password.
_CONNECTION = re.compile(rb"server|host|source|user|uid|database|catalog")
_CONNECTION_BYTES = 200

_SCHEME = re.compile(rb"B(?:earer|asic)[ \t]{1,4}(?P<header>[\w.~+/-]{16,2000}+={0,2})")

#: How far back the name of a value is looked for, and what names of secrets have in them.
_NAME_BYTES = 80
_STEMS = (b"pass", b"pwd", b"secret", b"token", b"key", b"auth", b"cred")
#: From the last stem before a value up to the value; the group is how the name goes on.
_NAME = re.compile(
    rb"""(?: passw(?:or)?d | passphrase | (?:pass|pwd|auth|authorization)(?![a-z]) | secret | token
      | credentials? | key )
    ([\w.-]{0,40}+) ["'`\])\\]{0,3}
    (?: \s{0,4}:\s{0,4}[&\w'\ .<>\[\]?|]{1,24} | [ ]string | \[\d{0,4}\] )?   # a type
    \s*+ (?: [:=]=? | => )\s*+ [\w@$\\&]{0,2} ["'`]? \Z""",
    re.IGNORECASE | re.VERBOSE,
)
#: What a key has to be of to be secret.
_KEY_OF = re.compile(
    rb"(?:api|access|auth|private|secret|crypt(?:ion)?|signing|master|session|client|account|shared)"
    rb"[_.-]?\Z"
)
_KEY_OF_BYTES = 20
#: Stems that are parts of other words, such as bypass and oauth.
_SHORT_STEMS = (b"pass", b"pwd", b"auth")
_PUBLIC_KEY = (b"publickey", b"public_key", b"public-key")
#: A name that goes on with one of these means something about the secret, not the secret.
_ABOUT = re.compile(
    rb"""name | type | ur[il] | path | file | dir | field | label | placeholder | endpoint | header
    | param | prefix | suffix | format | pattern | regex | len | size | class | attr | column | hint
    | text | title | message | error | expir | count | index | scope | audience | issuer | alg
    | provider | policy | version | (?<![a-z])id | (?-i:Id) | ref(?!resh) | arn | valid | mode
    | kind | hash | digest | spec | source""",
    re.IGNORECASE | re.VERBOSE,
)
#: Names of values that a person may have chosen.
_CHOSEN = (b"pass", b"pwd", b"secret")
_AWS_SECRET_BYTES = 40


class _Judge:
    """Says of the values in one text which are secrets, each distinct case once.

    Without that memory, a hostile megabyte of one repeated assignment would take half a second.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._known: dict[tuple[bytes, int], bool] = {}

    def is_secret(self, match: re.Match[bytes], kind: str) -> bool:
        """Judge the group of a match that is named by the kind of its place."""
        start, end = match.span(kind)
        if kind in _NAMED:
            return self._is_named(start, end, kind)
        if kind == "url":
            return is_password(self._text[start:end])
        if kind == "telegram":
            at = max(0, start - _BOT_NUMBER_BYTES)
            return _BOT_NUMBER.search(self._text, at, start) is not None
        if kind == "header":
            return self._is_random(self._text[start:end])
        before = self._text[max(0, start - _CONNECTION_BYTES) : start]
        line = before[before.rfind(b"\n") + 1 :].lower()
        return _CONNECTION.search(line) is not None and is_password(self._text[start:end])

    def _is_random(self, value: bytes) -> bool:
        key = (value, 0)
        verdict = self._known.get(key)
        if verdict is None:
            verdict = self._known[key] = is_random(value)
        return verdict

    def _is_named(self, start: int, end: int, kind: str) -> bool:
        """Judge a value by the name before it, and then by its look."""
        before = self._text[max(0, start - _NAME_BYTES) : start]
        lower = before.lower()
        at = -1
        for stem in _STEMS:
            found = lower.rfind(stem)
            if found > at:
                at = found
        if at < 0:
            return False
        key = (self._text[start - len(before) : end + 1], end - start)
        verdict = self._known.get(key)
        if verdict is None:
            after = self._text[end : end + 1] if kind == "bare" else None
            verdict = _is_named_secret(before, at, self._text[start:end], after)
            self._known[key] = verdict
        return verdict


def find_values(text: bytes, spans: Spans) -> None:
    """Add the spans of the values in a text whose place makes them secrets."""
    judge = _Judge(text)
    for places in (_SCHEME, _AFTER_COLON, _AFTER_EQUALS):
        for match in places.finditer(text):
            kind = match.lastgroup or ""
            if judge.is_secret(match, kind):
                spans.append(match.span(kind))


def _is_named_secret(before: bytes, at: int, value: bytes, after: bytes | None) -> bool:
    """Tell whether the name before a value makes it a secret, and the value looks like one.

    Args:
        before: The text before the value, its opening quote included.
        at: Where the last stem stands in it.
        value: The value.
        after: The byte after a value without quotes, empty at the end; None for a quoted one.
    """
    lower = before.lower()
    name = _NAME.match(before, at)
    if name is None or _ABOUT.search(name[1]) is not None or not _is_of_secret(before, lower, at):
        return False
    if after is not None and not _is_setting(before, value, after):
        return False
    if len(value) == _AWS_SECRET_BYTES and b"access" in lower:
        return True  # also the sample of AWS's own documentation
    return is_random(value, chosen=lower.startswith(_CHOSEN, at))


def _is_of_secret(before: bytes, lower: bytes, at: int) -> bool:
    """Tell by what stands before a stem whether it names a secret.

    So does ``api_key`` but not ``key``, ``dbPass`` but not ``bypass``, nor a public key's token.
    """
    if lower.startswith(b"key", at):
        return _KEY_OF.search(lower, max(0, at - _KEY_OF_BYTES), at) is not None
    if lower.startswith(_SHORT_STEMS, at) and not lower.startswith((b"passw", b"passp"), at):
        is_camel_case = before[at : at + 1].isupper() and before[at - 1 : at].islower()
        return is_camel_case or not before[max(0, at - 1) : at].isalpha()
    return not lower.endswith(_PUBLIC_KEY, 0, at)


def _is_setting(before: bytes, value: bytes, after: bytes) -> bool:
    """Tell unquoted values in files of settings from names and comparisons in code."""
    if after not in _LINE_ENDS and _BARE_KEY.match(value) is None:
        return False
    if before.rstrip().endswith((b"==", b"!=", b"<=", b">=")) or _DOTTED_NAME.match(value):
        return False
    return b"_" not in value or not (value.isupper() or value.islower())
