"""Made-up secrets of every known format, put together when needed: no file holds one whole."""

import random
import string
from collections.abc import Callable

_LETTERS = string.ascii_letters
_MIXED = string.ascii_letters + string.digits
_URL = _MIXED + "-_"
_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + "234567"

Draw = Callable[[str, int], str]
Canary = Callable[[Draw], str]

#: Tokens that are known by their form, wherever they stand.
TOKENS: dict[str, Canary] = {
    "aws access key": lambda draw: "AK" + "IA" + draw(_UPPER, 16),
    "aws session key": lambda draw: "AS" + "IA" + draw(_UPPER, 16),
    "github": lambda draw: "gh" + "p_" + draw(_MIXED, 36),
    "github server": lambda draw: "gh" + "s_" + draw(_MIXED, 36),
    "github fine": lambda draw: "github" + "_pat_" + draw(_MIXED, 22) + "_" + draw(_MIXED, 59),
    "gitlab": lambda draw: "gl" + "pat-" + draw(_URL, 20),
    "slack bot": lambda draw: (
        "xo" + "xb-" + draw("123456789", 12) + "-" + draw("123456789", 12) + "-" + draw(_MIXED, 24)
    ),
    "slack app": lambda draw: "xa" + "pp-1-A" + draw(_UPPER, 10) + "-" + draw(_HEX, 64),
    "stripe": lambda draw: "sk" + "_live_" + draw(_MIXED, 24),
    "stripe restricted": lambda draw: "rk" + "_live_" + draw(_MIXED, 24),
    "openai project": lambda draw: "sk" + "-proj-" + draw(_URL, 64),
    "openai": lambda draw: "sk" + "-" + draw(_MIXED, 20) + "T3Blb" + draw(_MIXED, 20) + "7",
    "anthropic": lambda draw: "sk" + "-ant-api03-" + draw(_URL, 95),
    "google": lambda draw: "AI" + "za" + draw(_URL, 35),
    "npm": lambda draw: "np" + "m_" + draw(_MIXED, 36),
    "pypi": lambda draw: "py" + "pi-AgEIcHlwaS5vcmc" + draw(_URL, 120),
    "sendgrid": lambda draw: "S" + "G." + draw(_URL, 22) + "." + draw(_URL, 43),
    "twilio": lambda draw: "S" + "K" + draw(_HEX, 32),
    "mailgun": lambda draw: "ke" + "y-" + draw(_HEX, 32),
    "discord": lambda draw: "MTk4NjIyNDgz" + "NDcxOTI1MjQ4." + draw(_URL, 6) + "." + draw(_URL, 27),
    "shopify": lambda draw: "shp" + "at_" + draw(_HEX, 32),
    "digitalocean": lambda draw: "dop" + "_v1_" + draw(_HEX, 64),
    "huggingface": lambda draw: "h" + "f_" + draw(_LETTERS, 34),
    "databricks": lambda draw: "da" + "pi" + draw(_HEX, 32),
    "jwt": lambda draw: (
        "ey" + "J" + draw(_MIXED, 33) + ".ey" + "J" + draw(_URL, 60) + "." + draw(_URL, 43)
    ),
    "webhook": lambda draw: "wh" + "sec_" + draw(_MIXED, 6) + "/" + draw(_MIXED + "+/", 25),
}

#: Secrets that are known by their place: the text with ``%s`` for it, and how it is drawn.
PLACES: dict[str, tuple[str, Canary]] = {
    "python": ('password = "%s"', lambda draw: draw(_HEX, 40)),
    "annotated": ('api_key: str = "%s"', lambda draw: draw(_HEX, 40)),
    "json": ('{"client_secret": "%s"}', lambda draw: draw(_HEX, 40)),
    "json in a string": (r'"{\"token\": \"%s\"}"', lambda draw: draw(_HEX, 40)),
    "ruby": ("'db_password' => '%s',", lambda draw: draw(_HEX, 40)),
    "go": ('APIKey:     "%s",', lambda draw: draw(_HEX, 40)),
    "go variable": ('var authToken string = "%s"', lambda draw: draw(_HEX, 40)),
    "csharp": ('var secret = @"%s";', lambda draw: draw(_HEX, 40)),
    "yaml": ("  accessToken: %s\n", lambda draw: draw(_HEX, 40)),
    "environment": ("export SECRET_KEY=%s\n", lambda draw: draw(_HEX, 40)),
    "aws secret": ("aws_secret_access_key = %s\n", lambda draw: draw(_MIXED + "+/", 39) + "7"),
    "azure": ("AccountName=a;AccountKey=%s;", lambda draw: draw(_MIXED + "+/", 86) + "=="),
    "connection": ('"Server=db;User Id=sa;Password=%s;"', lambda draw: draw(_HEX, 7) + "x9!"),
    "url": ("postgres://app:%s@db.internal:5432/app", lambda draw: draw(_MIXED, 15) + "7"),
    "query": ("https://api.host/v1?token=%s&page=2", lambda draw: draw(_HEX, 40)),
    "bearer": ('"Authorization": "Bearer %s"', lambda draw: draw(_HEX, 40)),
    "curl": ("curl -H 'authorization: bearer %s'", lambda draw: draw(_HEX, 40)),
    "telegram": ("https://api.telegram.org/bot123456789:%s", lambda draw: "AA" + draw(_URL, 33)),
    "slack hook": (
        "https://hooks.slack.com/services/%s",
        lambda draw: "T" + draw(_UPPER, 8) + "/B" + draw(_UPPER, 8) + "/" + draw(_MIXED, 24),
    ),
    "discord hook": (
        "https://discord.com/api/webhooks/%s",
        lambda draw: draw("123456789", 18) + "/" + draw(_URL, 68),
    ),
}


def drawing(seed: int) -> Draw:
    """Give a source of characters that is the same for the same seed."""
    source = random.Random(seed)
    return lambda alphabet, count: "".join(source.choice(alphabet) for _ in range(count))


def private_key(draw: Draw, lines: int = 4) -> tuple[str, list[str]]:
    """Make up a private key: the whole block, and the lines of its body."""
    body = [draw(_MIXED + "+/", 64) for _ in range(lines)] + [draw(_MIXED, 22) + "=="]
    kind = "RSA PRIVATE" + " KEY-----"
    return "\n".join([f"-----BEGIN {kind}", *body, f"-----END {kind}", ""]), body
