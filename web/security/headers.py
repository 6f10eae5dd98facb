"""Headers of every answer."""

from collections.abc import Iterable, Mapping

Headers = Iterable[tuple[bytes, bytes]]

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: On every answer, also on errors and streams; a handler cannot change them.
ALWAYS: Mapping[bytes, bytes] = {
    b"content-security-policy": _POLICY,
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"x-frame-options": b"DENY",
}
#: Unless a handler says otherwise: code and queries are nothing that a cache should keep.
UNLESS_SAID: Mapping[bytes, bytes] = {b"cache-control": b"no-store"}
_NEVER = (b"server", b"x-powered-by")


def protected(headers: Headers, request_id: bytes) -> list[tuple[bytes, bytes]]:
    """Give the headers of an answer with those that every answer has.

    No header that lets other origins read it passes, whoever set it.
    """
    named = [(name.lower(), value) for name, value in headers]
    kept = [
        (name, value)
        for name, value in named
        if name not in ALWAYS and name not in _NEVER and not name.startswith(b"access-control-")
    ]
    said = {name for name, _ in kept}
    unsaid = [(name, value) for name, value in UNLESS_SAID.items() if name not in said]
    return [*kept, *unsaid, *ALWAYS.items(), (b"x-request-id", request_id)]
