"""Secrets in files whose names say so, and secrets in the midst of code."""

from collections.abc import Callable

from engine.records import SkipReason
from tests.support.canaries import PLACES, TOKENS, private_key
from tests.support.hostile.case import IS_INDEXED, Case, Place, one_of

_SECRET = one_of(SkipReason.SECRET_FILE)

#: Files that are not read, whatever they hold.
_FILES = (
    ".env",
    ".env.production",
    "server.pem",
    "id_rsa",
    ".netrc",
    ".npmrc",
    "credentials.json",
    "kubeconfig",
    "prod.tfstate",
    "cert.pfx",
    ".aws/config",
    ".ssh/known_hosts",
    "app.keystore",
    "secrets.yaml",
)
#: Tokens that are known by their form, in code, and secrets that are known by their place.
_TOKENS = (
    "aws access key",
    "github",
    "github fine",
    "gitlab",
    "slack bot",
    "slack app",
    "stripe",
    "openai project",
    "anthropic",
    "google",
    "npm",
    "pypi",
    "sendgrid",
    "jwt",
)
_PLACES = ("python", "json", "yaml", "environment", "url", "bearer", "connection")


def _file(name: str) -> Case:
    def build(place: Place) -> None:
        word = place.forbid("quince" + place.draw("bcdfghjklmnpqrstvwxz", 20))
        place.write(name, f"value = {word}\n")

    return Case(
        class_="secrets", name=f"file {name.strip('.')}", build=build, expect={name: _SECRET}
    )


def _in_code(name: str, secret: Callable[[Place], str], line: str) -> Case:
    def build(place: Place) -> None:
        text = line.replace("%s", place.forbid(secret(place)))
        place.write("app.py", f"def connect():\n    return 1\n\n{text}\n\nafterwards = 2\n")

    return Case(class_="secrets", name=name, build=build, expect={"app.py": IS_INDEXED})


def _token(name: str) -> Case:
    return _in_code(f"token {name}", lambda place: TOKENS[name](place.draw), 'client = new("%s")')


def _placed(name: str) -> Case:
    line, draw = PLACES[name]
    return _in_code(f"placed {name}", lambda place: draw(place.draw), line)


def _key_block(place: Place) -> None:
    block, body = private_key(place.draw)
    for line in body:
        place.forbid(line)
    place.write("app.py", f'KEY = """{block}"""\n')


def _example(place: Place) -> None:
    place.write(".env.example", "DATABASE_URL=postgres://localhost/app\n")


CASES = (
    *map(_file, _FILES),
    *map(_token, _TOKENS),
    *map(_placed, _PLACES),
    Case(class_="secrets", name="private key", build=_key_block, expect={"app.py": IS_INDEXED}),
    Case(class_="secrets", name="example", build=_example, expect={".env.example": IS_INDEXED}),
)
