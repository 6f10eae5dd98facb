"""Secrets that show by themselves what they are: tokens of vendors, and private keys.

Every source file passes here, so a text first runs through a few sieves. A sieve begins with one
literal byte, which the regex engine looks for at the speed of memory; only where one hits are the
exact rules behind it tried. All patterns are linear: what repeats is bounded, possessive, or cannot
begin again inside itself.
"""

import re
from collections.abc import Callable

#: Half-open byte offsets of secrets, in no order; they hold no line break and may overlap.
Spans = list[tuple[int, int]]
Search = Callable[[bytes], re.Match[bytes] | None]
Find = Callable[[bytes, Spans], None]


def _token(prefix: bytes, body: bytes, apart: bytes = rb"A-Za-z0-9") -> re.Pattern[bytes]:
    r"""Build the pattern of a token that stands on its own.

    The prefix comes first because the regex engine jumps to a literal there; only then is it
    checked that nothing of its kind stands before it, but for the letter of an escape (``\n``).

    Args:
        prefix: A pattern of fixed width.
        body: The pattern of what follows it.
        apart: The characters that must not stand before it, as in a class.
    """
    return re.compile(
        rb"%b(?:(?<![%b]%b)|(?<=\\[nrt]%b))%b" % (prefix, apart, prefix, prefix, body)
    )


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
    # OpenAI, Anthropic and those that took over their form
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
    re.compile(rb"Acc(?:ount|ess)Key=([A-Za-z0-9+/]{40,100}={0,2})"),  # Azure
    _token(rb"ATATT3", rb"[\w=-]{50,300}"),  # Atlassian
)

_TWILIO = _token(rb"SK", rb"[0-9a-f]{32}(?![A-Za-z0-9])")
_DATABRICKS = _token(rb"dapi", rb"[0-9a-f]{32}(?![A-Za-z0-9])")

#: The later two of the three parts of a token with dots, of which the first says what it is; or the
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
#: The pieces of a key's body, in whatever string literals it stands; escapes are passed over.
_KEY_PIECE = re.compile(rb"\\[nrt]|((?:[A-Za-z0-9+/=]|\\/){4,})")
_MIN_UNENDED_PIECE_BYTES = 20


def find_tokens(text: bytes, spans: Spans) -> None:
    """Add the spans of the tokens and private keys in a text."""
    for search, find in _SIEVES:
        if search(text) is not None:
            find(text, spans)
    for match in _DOTTED.finditer(text):
        start = _start_of_dotted(text, match)
        if start >= 0:
            spans.append((start, match.end()))


def _finder(*rules: re.Pattern[bytes]) -> Find:
    """Build the search for tokens; the first group of a rule is the secret, else all of it."""

    def find(text: bytes, spans: Spans) -> None:
        for rule in rules:
            group = min(rule.groups, 1)
            spans.extend([match.span(group) for match in rule.finditer(text)])

    return find


def _start_of_dotted(text: bytes, match: re.Match[bytes]) -> int:
    """Find where a token starts whose later parts are known; -1 when it is none."""
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


def _find_private_keys(text: bytes, spans: Spans) -> None:
    """Find the bodies of PEM blocks, piece by piece, also where string literals hold them.

    Code that only speaks of such blocks has no line of 40 characters of base64 after the mark. A
    block without an end stops before its first short piece.
    """
    for match in _PRIVATE_KEY.finditer(text):
        start = match.end()
        end = text.find(b"----", start, start + _MAX_KEY_BYTES)
        body_end = end if end >= 0 else start + _MAX_KEY_BYTES
        if _KEY_LINE.search(text, start, body_end) is None:
            continue
        is_ended = end >= 0 and text.startswith((b"-END", b" END"), end + 4)
        for piece in _KEY_PIECE.finditer(text, start, body_end):
            if piece.lastindex is None:
                continue
            if not is_ended and piece.end() - piece.start() < _MIN_UNENDED_PIECE_BYTES:
                break
            spans.append(piece.span())


_find_hyphened_tokens = _finder(*_HYPHENED)

#: A cheap search, and the exact one that is worth its cost only where the cheap one hits. Those for
#: ``_`` and ``-`` look at the last characters of the prefixes only before a long enough body.
_SIEVES: tuple[tuple[Search, Find], ...] = (
    (
        re.compile(
            rb"_(?=[A-Za-z0-9]{20})"
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
    (_TWILIO.search, _finder(_TWILIO)),
    (_DATABRICKS.search, _finder(_DATABRICKS)),
)
