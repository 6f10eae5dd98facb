"""Keys and tokens that nothing is to show by mistake."""

import hmac


class Secret:
    """A key that no message, log or representation shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(…)" if self._text else "Secret()"

    def reveal(self) -> str:
        """Give the key itself, for the header it belongs in."""
        return self._text

    def is_equal(self, given: str) -> bool:
        """Compare with what somebody gave, in a time that tells nothing; False when empty."""
        same = hmac.compare_digest(self._text.encode(), given.encode("utf-8", "replace"))
        return bool(self._text) and same

    def blanked(self, text: str) -> str:
        """Take the key out of a text, such as what a server says of it."""
        return text.replace(self._text, "…") if self._text else text
