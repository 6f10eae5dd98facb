"""Whether a value was drawn by lot, as a key is, or written by a person to be read.

What stands after ``password =`` in source code is most often a word, a path, a format or a
reference to where the real value is. Those must stay readable; only what looks like chance is a
secret.
"""

import math
import re

#: Shannon entropy, bits a byte, of the value's own bytes: 3.5, or less where the value is too short
#: to have it. Of values drawn from letters and digits 2 in 100 fall below that; hexadecimal ones
#: have 3.6 at 32 digits.
_MIN_ENTROPY = 3.5
_MIN_ENTROPY_SHARE = 0.84  # of the most that the length allows
_MIN_HEX_ENTROPY = 2.75
#: Fewer different bytes cannot have any of these.
_MIN_DIFFERENT = 7
#: Fewer letters are a number or a date.
_MIN_LETTERS = 2
_MIN_LETTERS_BEYOND_HEX = 4
_HEX = re.compile(rb"[0-9a-fA-F-]{16,}\Z")

#: References to where the value really is, formats and regexes.
_REFERENCE = re.compile(
    rb"[{}<>\[\]^`]|\$[A-Za-z(]|%(?:[sdvr](?![A-Za-z0-9])|[(@])|\(.{0,500}\)|://|\*\*\*|\.\.\."
)
#: Words for "put yours here", and of looking a value up.
_PLACEHOLDERS = (
    b"example", b"change", b"placeholder", b"dummy", b"your", b"xxxx", b"redacted", b"insert",
    b"replace", b"environ", b"getenv", b"arn:",
)  # fmt: skip

#: A run of letters as words have: four or more, with a capital at the start or all capitals. One
#: letter in four of a word is a vowel; so it is in 6 of 10 such runs that were drawn by lot.
_RUN = re.compile(rb"[A-Z][a-z]{3,}|[a-z]{4,}|[A-Z]{4,}")
_NO_VOWELS = bytes(code for code in range(256) if code not in b"aeiouyAEIOUY")
#: A digit inside letters, as words do not have it twice.
_INSIDE = re.compile(rb"[A-Za-z][0-9]+(?=[A-Za-z])")
_CAMEL_CASE = re.compile(rb"[A-Za-z][a-z]+(?:[A-Z][a-z]{2,}+)+\Z")
_SWITCH = re.compile(rb"[a-z][A-Z]")
_NO_LETTERS = bytes(code for code in range(256) if not chr(code).isalpha() or code > 127)
_NO_DIGITS = bytes(code for code in range(256) if code not in b"0123456789")
_SYMBOL = re.compile(rb"[!@#$%&*?~=+]")

#: What people write for a password in a URL of documentation and tests.
_SAMPLE_PASSWORDS = frozenset(
    b"""admin bar foo guest pass passw0rd passwd password password1 postgres pw pwd root secret test
    token user x-oauth-basic""".split()
)
#: Shorter words without digit or sign are taken for samples.
_MIN_WORD_PASSWORD_BYTES = 16


def is_random(value: bytes, *, chosen: bool = False) -> bool:
    """Tell whether a value looks drawn by lot.

    Args:
        value: What stands between the quotes; at most some hundred bytes.
        chosen: A person may have chosen it, as passwords are: words count then when they are mixed
            with digits and signs.
    """
    if len(set(value)) < _MIN_DIFFERENT:
        return False
    letters = len(value.translate(None, _NO_LETTERS))
    digits = len(value.translate(None, _NO_DIGITS))
    least = min(_MIN_ENTROPY, _MIN_ENTROPY_SHARE * math.log2(len(value)))
    if letters < _MIN_LETTERS:
        return False
    if digits and _HEX.match(value):
        least = _MIN_HEX_ENTROPY
    elif letters < _MIN_LETTERS_BEYOND_HEX:
        return False
    elif _letters_in_words(value) * 5 > letters * 3 and len(_INSIDE.findall(value)) < 2:
        is_mixed = chosen and digits > 0 and _SYMBOL.search(value) is not None
        return is_mixed and not _is_placeholder(value)
    elif digits == 0 and not _is_mixed_case(value):
        return False
    return entropy(value) >= least and not _is_placeholder(value)


def _is_mixed_case(value: bytes) -> bool:
    """Tell letters in which capitals stand anywhere from those in which they begin words."""
    if _CAMEL_CASE.match(value):
        return False
    return len(_SWITCH.findall(value)) * 8 >= len(value)


def _letters_in_words(value: bytes) -> int:
    total = 0
    for run in _RUN.findall(value):
        if len(run.translate(None, _NO_VOWELS)) * 4 >= len(run):
            total += len(run)
    return total


def _is_placeholder(value: bytes) -> bool:
    lower = value.lower()
    for word in _PLACEHOLDERS:
        if word in lower:
            return True
    return _REFERENCE.search(value) is not None


def is_password(value: bytes) -> bool:
    """Tell whether the password part of a URL or a connection string is one.

    The place says that it is a password, so only placeholders and samples are refused.
    """
    if value.lower() in _SAMPLE_PASSWORDS or len(set(value)) < 3:
        return False
    if value.isdigit():
        return len(value) > 5  # shorter ones are ports
    if value.isalpha() and len(value) < _MIN_WORD_PASSWORD_BYTES:
        return False
    return not _is_placeholder(value)


def entropy(value: bytes) -> float:
    """Give the Shannon entropy of the bytes of a value, bits a byte; 0 when it is empty."""
    size = len(value)
    if not size:
        return 0.0
    log2 = math.log2
    counts = [value.count(byte) for byte in set(value)]
    return log2(size) - sum([count * log2(count) for count in counts if count > 1]) / size
