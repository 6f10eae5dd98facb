"""Find secrets in text: tokens of known vendors, private keys, and values in telling places.

Every source file passes through here, so a text first runs through a few cheap searches. Each
begins with one literal byte, which the regex engine finds at memory speed; only where one hits are
the exact rules behind it tried. All patterns are linear: repeats are bounded, possessive, or cannot
begin again inside themselves.

Tokens and keys are recognised by their own form. A value after ``password =``, in a URL or in a
header counts only when it looks random: in source code such a value is most often a word, a path,
a format or a reference to the real value, and those must stay readable. Each ``:`` and ``=`` of a
text is looked at once, also inside a value: the patterns begin with that byte and look ahead.
"""

import functools
import math
import re
from collections.abc import Callable

#: Half-open byte offsets of secrets, in no order; they hold no line break and may overlap.
Spans = list[tuple[int, int]]
Search = Callable[[bytes], re.Match[bytes] | None]
Find = Callable[[bytes, Spans], None]

#: The last two of the three parts of a dotted token, of which the first identifies it; or the
#: path of a web hook.
_DOTTED = re.compile(
    rb"\.(?:(?P<middle>[\w-]{6,}+)\.(?P<last>[\w-]{20,}+)"
    rb"|com/(?:services|workflows|triggers|api/webhooks)/(?P<hook>[\w/+-]{20,200}))"
)
_HOOK_HOSTS = (b"hooks.slack", b"discord", b"discordapp")
_SENDGRID_BYTES = (22, 43)
_DISCORD_MIDDLE_BYTES = 6
#: A Discord token begins with a number in base64.
_DISCORD_START = re.compile(
    rb"(?:(?<![\w-])|(?<=\\[nrt]))(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}\w{0,3}\Z"
)
_DISCORD_START_BYTES = 30
_WEB_TOKEN_START = re.compile(rb"[\w-]{10,}+\Z")
_WEB_TOKEN_START_BYTES = 2048

_PRIVATE_KEY = re.compile(rb"-----? ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-----?")
_MAX_KEY_BYTES = 65_536
_KEY_LINE = re.compile(rb"[A-Za-z0-9+/=]{40}")
#: The pieces of a key's body in any string literals; escapes are skipped.
_KEY_PIECE = re.compile(rb"\\[nrt]|((?:[A-Za-z0-9+/=]|\\/){4,})")
_MIN_UNENDED_PIECE_BYTES = 20

#: Shannon entropy, bits a byte, of the value's own bytes: 3.5, or less where the value is too short
#: to have it. Of values drawn from letters and digits 2 in 100 fall below that; hexadecimal ones
#: have 3.6 at 32 digits.
_MIN_ENTROPY = 3.5
_MIN_ENTROPY_SHARE = 0.84  # of the most that the length allows
_MIN_HEX_ENTROPY = 2.75
#: Values with fewer distinct bytes cannot be random.
_MIN_DIFFERENT = 7
#: Values with fewer letters are numbers or dates.
_MIN_LETTERS = 2
_MIN_LETTERS_BEYOND_HEX = 4
_HEX = re.compile(rb"[0-9a-fA-F-]{16,}\Z")

#: References to the real value, formats and regexes.
_REFERENCE = re.compile(
    rb"[{}<>\[\]^`]|\$[A-Za-z(]|%(?:[sdvr](?![A-Za-z0-9])|[(@])|\(.{0,500}\)|://|\*\*\*|\.\.\."
)
#: Words of placeholders and of looking up a value.
_PLACEHOLDERS = (
    b"example", b"change", b"placeholder", b"dummy", b"your", b"xxxx", b"redacted", b"insert",
    b"replace", b"environ", b"getenv", b"arn:",
)  # fmt: skip

#: A run of letters as words have: four or more, with a capital at the start or all capitals. One
#: letter in four of a word is a vowel; the same holds for 6 of 10 random runs.
_RUN = re.compile(rb"[A-Z][a-z]{3,}|[a-z]{4,}|[A-Z]{4,}")
_NO_VOWELS = bytes(code for code in range(256) if code not in b"aeiouyAEIOUY")
#: A digit inside letters; words do not have two.
_INSIDE = re.compile(rb"[A-Za-z][0-9]+(?=[A-Za-z])")
_CAMEL_CASE = re.compile(rb"[A-Za-z][a-z]+(?:[A-Z][a-z]{2,}+)+\Z")
_SWITCH = re.compile(rb"[a-z][A-Z]")
_NO_LETTERS = bytes(code for code in range(256) if not chr(code).isalpha() or code > 127)
_NO_DIGITS = bytes(code for code in range(256) if code not in b"0123456789")
_SYMBOL = re.compile(rb"[!@#$%&*?~=+]")

#: Sample passwords in URLs of documentation and tests.
_SAMPLE_PASSWORDS = frozenset(
    b"""admin bar foo guest pass passw0rd passwd password password1 postgres pw pwd root secret test
    token user x-oauth-basic""".split()
)
#: Shorter words without a digit or sign count as samples.
_MIN_WORD_PASSWORD_BYTES = 16

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
#: The kinds of values that are secret only because of the name before them.
_NAMED = frozenset({"double", "single", "back", "escaped", "prefixed", "bare"})
#: At the end of a line a bare value may be anything, elsewhere only key characters.
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

#: How far back the name of a value is searched for, and the stems in names of secrets.
_NAME_BYTES = 80
_STEMS = (b"pass", b"pwd", b"secret", b"token", b"key", b"auth", b"cred")
#: From the last stem before a value to the value; the group is the rest of the name.
_NAME = re.compile(
    rb"""(?: passw(?:or)?d | passphrase | (?:pass|pwd|auth|authorization)(?![a-z]) | secret | token
      | credentials? | key )
    ([\w.-]{0,40}+) ["'`\])\\]{0,3}
    (?: \s{0,4}:\s{0,4}[&\w'\ .<>\[\]?|]{1,24} | [ ]string | \[\d{0,4}\] )?   # a type
    \s*+ (?: [:=]=? | => )\s*+ [\w@$\\&]{0,2} ["'`]? \Z""",
    re.IGNORECASE | re.VERBOSE,
)
#: Words before ``key`` that make it secret.
_KEY_OF = re.compile(
    rb"(?:api|access|auth|private|secret|crypt(?:ion)?|signing|master|session|client|account|shared)"
    rb"[_.-]?\Z"
)
_KEY_OF_BYTES = 20
#: Other words that contain a stem: bypass, oauth, ….
_SHORT_STEMS = (b"pass", b"pwd", b"auth")
_PUBLIC_KEY = (b"publickey", b"public_key", b"public-key")
#: A name that continues with one of these describes the secret and is not the secret.
_ABOUT = re.compile(
    rb"""name | type | ur[il] | path | file | dir | field | label | placeholder | endpoint | header
    | param | prefix | suffix | format | pattern | regex | len | size | class | attr | column | hint
    | text | title | message | error | expir | count | index | scope | audience | issuer | alg
    | provider | policy | version | (?<![a-z])id | (?-i:Id) | ref(?!resh) | arn | valid | mode
    | kind | hash | digest | spec | source""",
    re.IGNORECASE | re.VERBOSE,
)
#: Names of values that people may choose themselves.
_CHOSEN = (b"pass", b"pwd", b"secret")
_AWS_SECRET_BYTES = 40


def _token(prefix: bytes, body: bytes, apart: bytes = rb"A-Za-z0-9") -> bytes:
    r"""Build the pattern of a token that stands on its own.

    The prefix comes first because the regex engine jumps to a literal there; only then is it
    checked that no such character precedes it, except for the letter of an escape (``\n``).

    Args:
        prefix: A pattern of fixed width.
        body: The pattern after the prefix.
        apart: The characters that must not precede it, as in a character class.
    """
    return rb"%b(?:(?<![%b]%b)|(?<=\\[nrt]%b))%b" % (prefix, apart, prefix, prefix, body)


_UNDERSCORED = (
    _token(rb"gh[pousr]_", rb"[A-Za-z0-9_]{36,255}"),  # GitHub
    _token(rb"github_pat_", rb"[A-Za-z0-9_]{60,255}"),
    _token(rb"sk_(?:live|test)_", rb"[A-Za-z0-9]{20,255}"),  # Stripe
    _token(rb"rk_(?:live|test)_", rb"[A-Za-z0-9]{20,255}"),
    _token(rb"whsec_", rb"[A-Za-z0-9+/]{32,255}={0,2}"),
    _token(rb"npm_", rb"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _token(rb"hf_", rb"[A-Za-z0-9]{30,60}(?![A-Za-z0-9])"),  # Hugging Face
    _token(rb"shp(?:at|ca|pa|ss)_", rb"[A-Fa-f0-9]{32}(?![A-Za-z0-9])"),  # Shopify
    _token(rb"do[opr]_v1_", rb"[a-f0-9]{64}(?![A-Za-z0-9])"),  # DigitalOcean
    _token(rb"gsk_", rb"[A-Za-z0-9]{50,255}"),  # Groq
    _token(rb"lin_api_", rb"[A-Za-z0-9]{40}(?![A-Za-z0-9])"),  # Linear
    _token(rb"glsa_", rb"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}(?![A-Za-z0-9])"),  # Grafana
    _token(rb"sbp_", rb"[a-f0-9]{40}(?![A-Za-z0-9])"),  # Supabase
    _token(rb"rubygems_", rb"[a-f0-9]{48}(?![A-Za-z0-9])"),
    _token(rb"r8_", rb"[A-Za-z0-9]{37}(?![A-Za-z0-9])"),  # Replicate
)

_HYPHENED = (
    _token(rb"glpat-", rb"[\w.-]{20,300}"),  # GitLab
    _token(rb"gl(?:dt|rt|ft)-", rb"[\w-]{20,300}"),
    _token(rb"gl(?:cbt|ptt)-", rb"[\w-]{20,300}"),
    _token(rb"xox[abeoprs]-", rb"(?=[A-Za-z-]{0,40}[0-9])[A-Za-z0-9-]{19,300}"),  # Slack
    _token(rb"xoxe\.xox[bp]-", rb"[A-Za-z0-9-]{19,300}"),
    _token(rb"xapp-", rb"[0-9]-[A-Za-z0-9-]{17,300}"),
    # OpenAI, Anthropic and vendors with the same format
    _token(rb"sk-", rb"(?:proj|svcacct|admin|None|ant|or-v1)-[\w-]{20,300}", rb"\w-"),
    _token(rb"sk-", rb"(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{20,300}", rb"\w-"),
    _token(rb"pypi-AgE", rb"[\w-]{50,600}"),
    _token(rb"key-", rb"[0-9a-f]{32}(?![\w-])", rb"\w-"),  # Mailgun
    _token(rb"GOCSPX-", rb"[\w-]{28}"),  # Google OAuth
    _token(rb"AGE-SECRET-KEY-", rb"[A-Z0-9]{58}"),
    _token(rb"tskey-", rb"[a-z]{2,12}-[A-Za-z0-9-]{20,100}"),  # Tailscale
    _token(rb"NRAK-", rb"[A-Z0-9]{27}"),  # New Relic
)

_WITH_CAPITAL_A = (
    _token(rb"A[KSB]IA", rb"[A-Z0-9]{16}(?![A-Za-z0-9])"),  # AWS, the documentation's sample too
    _token(rb"AIza", rb"[\w-]{35,40}(?![\w-])"),  # Google
    rb"Acc(?:ount|ess)Key=([A-Za-z0-9+/]{40,100}={0,2})",  # Azure
    _token(rb"ATATT3", rb"[\w=-]{50,300}"),  # Atlassian
)

_TWILIO = _token(rb"SK", rb"[0-9a-f]{32}(?![A-Za-z0-9])")
_DATABRICKS = _token(rb"dapi", rb"[0-9a-f]{32}(?![A-Za-z0-9])")


def find_tokens(text: bytes, spans: Spans) -> None:
    """Add the spans of the tokens and private keys in a text."""
    for search, find in _SIEVES:
        if search(text) is not None:
            find(text, spans)
    for match in _DOTTED.finditer(text):
        start = _start_of_dotted(text, match)
        if start >= 0:
            spans.append((start, match.end()))


def _finder(*rules: bytes) -> Find:
    """Build the search for tokens; the secret is a rule's first group, or else the whole match.

    The rules are compiled for the first text that needs them: most trees have none.
    """

    @functools.cache
    def compiled() -> tuple[re.Pattern[bytes], ...]:
        return tuple(map(re.compile, rules))

    def find(text: bytes, spans: Spans) -> None:
        for rule in compiled():
            group = min(rule.groups, 1)
            spans.extend([match.span(group) for match in rule.finditer(text)])

    return find


def _start_of_dotted(text: bytes, match: re.Match[bytes]) -> int:
    """Return the start of a token whose later parts matched, or -1 if it is not one."""
    at = match.start()
    if match.lastgroup == "hook":
        return match.start("hook") if text.endswith(_HOOK_HOSTS, 0, at) else -1
    sizes = (len(match["middle"]), len(match["last"]))
    if sizes == _SENDGRID_BYTES and text.endswith(b"SG", 0, at):
        return at - 2
    if sizes[0] == _DISCORD_MIDDLE_BYTES:
        first = _DISCORD_START.search(text, max(0, at - _DISCORD_START_BYTES), at)
        if first is not None:
            return first.start()
    start = text.rfind(b"eyJ", max(0, at - _WEB_TOKEN_START_BYTES), at)  # JSON Web Token
    return start if start >= 0 and _WEB_TOKEN_START.match(text, start, at) is not None else -1


def _find_hyphened(text: bytes, spans: Spans) -> None:
    _find_hyphened_tokens(text, spans)
    _find_private_keys(text, spans)


def key_bodies(text: bytes) -> Spans:
    """Return where the bodies of private keys may be, each of them one secret of many pieces."""
    found: Spans = []
    for match in _PRIVATE_KEY.finditer(text):
        start = match.end()
        end = text.find(b"----", start, start + _MAX_KEY_BYTES)
        found.append((start, end if end >= 0 else start + _MAX_KEY_BYTES))
    return found


def _find_private_keys(text: bytes, spans: Spans) -> None:
    """Find the bodies of PEM blocks, piece by piece, also where string literals hold them.

    Code that only mentions such blocks has no line of 40 characters of base64 after the mark. A
    block without an end stops before its first short piece.
    """
    for start, end in key_bodies(text):
        if _KEY_LINE.search(text, start, end) is None:
            continue
        is_ended = text.startswith((b"-----END", b"---- END"), end)
        for piece in _KEY_PIECE.finditer(text, start, end):
            if piece.lastindex is None:
                continue
            if not is_ended and piece.end() - piece.start() < _MIN_UNENDED_PIECE_BYTES:
                break
            spans.append(piece.span())


_find_hyphened_tokens = _finder(*_HYPHENED)

#: A cheap search, and the exact one that is worth its cost only after a hit. Those for
#: ``_`` and ``-`` look at the last characters of the prefixes only before a long enough body.
_SIEVES: tuple[tuple[Search, Find], ...] = (
    (
        re.compile(
            rb"_(?=[A-Za-z0-9+/]{20})"
            rb"(?<=(?:h[fpousr]|at|ve|st|ec|pm|[cps]a|ss|v1|sk|pi|bp|ms|r8)_)"
        ).search,
        _finder(*_UNDERSCORED),
    ),
    (
        re.compile(
            rb"-(?<!--)(?:(?=[\w-]{19})"
            rb"(?:(?<=sk-)|(?<=(?:pat|l[drf]t|cbt|ptt|ox[abeoprs]|app|ypi|key|KEY|SPX|RAK)-))"
            rb"|----? ?BEGIN )"
        ).search,
        _find_hyphened,
    ),
    (
        re.compile(rb"A(?:[KSB]IA|Iza|ccountKey=|ccessKey=|TATT3)[\w+/-]{16}").search,
        _finder(*_WITH_CAPITAL_A),
    ),
    (re.compile(_TWILIO).search, _finder(_TWILIO)),
    (re.compile(_DATABRICKS).search, _finder(_DATABRICKS)),
)


def is_random(value: bytes, *, chosen: bool = False) -> bool:
    """Return whether a value looks random.

    Args:
        value: The text between the quotes; at most a few hundred bytes.
        chosen: A person may have chosen it, as with passwords: then words count if they are mixed
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
    """Return whether capitals stand anywhere in the letters, not only at the start of words."""
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
    """Return whether the password part of a URL or a connection string is a real password.

    Its position says that it is a password, so only placeholders and samples are rejected.
    """
    if value.lower() in _SAMPLE_PASSWORDS or len(set(value)) < 3:
        return False
    if value.isdigit():
        return len(value) > 5  # shorter ones are ports
    if value.isalpha() and len(value) < _MIN_WORD_PASSWORD_BYTES:
        return False
    return not _is_placeholder(value)


def entropy(value: bytes) -> float:
    """Return the Shannon entropy of a value in bits per byte; 0 if it is empty."""
    size = len(value)
    if not size:
        return 0.0
    log2 = math.log2
    counts = [value.count(byte) for byte in set(value)]
    return log2(size) - sum([count * log2(count) for count in counts if count > 1]) / size


class _ValueClassifier:
    """Classifier of the values in one text, with each distinct case cached.

    Without the cache, a hostile megabyte of one repeated assignment would take half a second.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._known: dict[tuple[bytes, int], bool] = {}

    def is_secret(self, match: re.Match[bytes], kind: str) -> bool:
        """Return whether the matched group is a secret for its kind of position."""
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
        """Return whether the name before a value and the value itself indicate a secret."""
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
    """Add the spans of the values in a text that are secrets by their position."""
    judge = _ValueClassifier(text)
    for places in (_SCHEME, _AFTER_COLON, _AFTER_EQUALS):
        for match in places.finditer(text):
            kind = match.lastgroup or ""
            if judge.is_secret(match, kind):
                spans.append(match.span(kind))


def _is_named_secret(before: bytes, at: int, value: bytes, after: bytes | None) -> bool:
    """Return whether the name before a value makes it a secret, and the value looks like one.

    Args:
        before: The text before the value, its opening quote included.
        at: The offset of the last stem in it.
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
        return True  # includes the sample in AWS's documentation
    return is_random(value, chosen=lower.startswith(_CHOSEN, at))


def _is_of_secret(before: bytes, lower: bytes, at: int) -> bool:
    """Return whether a stem names a secret, judging by the text before it.

    ``api_key`` does but not ``key``, ``dbPass`` but not ``bypass``, nor a public key's token.
    """
    if lower.startswith(b"key", at):
        return _KEY_OF.search(lower, max(0, at - _KEY_OF_BYTES), at) is not None
    if lower.startswith(_SHORT_STEMS, at) and not lower.startswith((b"passw", b"passp"), at):
        is_camel_case = before[at : at + 1].isupper() and before[at - 1 : at].islower()
        return is_camel_case or not before[max(0, at - 1) : at].isalpha()
    return not lower.endswith(_PUBLIC_KEY, 0, at)


def _is_setting(before: bytes, value: bytes, after: bytes) -> bool:
    """Return whether an unquoted value is a setting, not a name or a comparison in code."""
    if after not in _LINE_ENDS and _BARE_KEY.match(value) is None:
        return False
    if before.rstrip().endswith((b"==", b"!=", b"<=", b">=")) or _DOTTED_NAME.match(value):
        return False
    return b"_" not in value or not (value.isupper() or value.islower())
