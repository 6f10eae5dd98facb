"""The token of a server: as a header of programs, as a cookie of browsers."""

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from engine.secret import Secret
from web.errors import Refusal

_BEARER = "bearer "


class Session:
    """Knows who may ask.

    The cookie is not the token but made of it, so that a browser never keeps the token itself.

    Args:
        token: Empty when everybody may.
        port: Cookies know no ports, so their names do.
    """

    def __init__(self, token: Secret, port: int) -> None:
        self._token = token
        self._name = f"cairn_session_{port}"
        made = hmac.new(token.reveal().encode(), b"session", hashlib.sha256).hexdigest()
        self._cookie = Secret(made if token else "")

    @property
    def is_wanted(self) -> bool:
        """Whether a token is asked for."""
        return bool(self._token)

    def check(self, authorization: list[str], cookies: list[str]) -> None:
        """Refuse who has neither token nor cookie.

        Args:
            authorization: Values of the headers Authorization.
            cookies: Values of the headers Cookie.

        Raises:
            Refusal: A token is asked for, and this is none.
        """
        if not self.is_wanted or self._has_token(authorization) or self._has_cookie(cookies):
            return
        raise Refusal(
            "unauthorized",
            "this server wants its token",
            hint="open the URL that cairn serve printed, or send Authorization: Bearer TOKEN",
        )

    def cookie_for(self, query: bytes) -> str | None:
        """Give the header that logs a browser in whose URL has the token; None when it has not."""
        if not (self.is_wanted and query):
            return None
        try:
            given = parse_qs(query.decode("ascii"), max_num_fields=20).get("token", [])
        except ValueError:
            return None
        if len(given) != 1 or not self._token.is_equal(given[0]):
            return None
        return f"{self._name}={self._cookie.reveal()}; HttpOnly; SameSite=Strict; Path=/"

    def _has_token(self, authorization: list[str]) -> bool:
        return any(
            value[: len(_BEARER)].lower() == _BEARER
            and self._token.is_equal(value[len(_BEARER) :].strip())
            for value in authorization
        )

    def _has_cookie(self, cookies: list[str]) -> bool:
        for text in cookies:
            try:
                morsel = SimpleCookie(text).get(self._name)
            except CookieError:
                continue
            if morsel is not None and self._cookie.is_equal(morsel.value):
                return True
        return False
