"""URIs of resources, taken apart once, and each of their parts decoded once."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from engine.errors import InvalidInputError, NotFoundError
from engine.records import is_path

_MOST_CHARS = 8192


class Asked(NamedTuple):
    """A URI, taken apart."""

    kind: str  # scheme and fixed part, as in ``symbols://list``
    path: str  # what stands for {path}; empty without one
    values: Mapping[str, str]  # of the query


def taken_apart(uri: str) -> Asked:
    """Take a URI apart.

    Raises:
        NotFoundError: There is nothing of that kind, or its path cannot be one below a root.
        InvalidInputError: Its query cannot be read.
    """
    if len(uri) > _MOST_CHARS:
        raise NotFoundError("no resource has so long a name")
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise NotFoundError(f"no resource: {uri}") from error
    if parts.fragment or not uri.startswith(f"{parts.scheme}://"):
        raise NotFoundError(f"no resource: {uri}")
    kind, path = _kind_of(parts.scheme, f"{parts.netloc}{parts.path}")
    return Asked(kind, _below_root(path, uri), _values_of(parts.query))


def _kind_of(scheme: str, rest: str) -> tuple[str, str]:
    """Tell what kind of resource it is, and the path in it."""
    if scheme == "project":
        path, _, last = rest.rpartition("/")
        return f"project://{last}", path if path != "." else ""
    if scheme == "symbols" and rest.startswith("file/"):
        return "symbols://file", rest.removeprefix("file/")
    is_file = scheme == "symbols" and rest == "file"  # without a path
    return ("", "") if is_file else (f"{scheme}://{rest.removesuffix('/')}", "")


def _below_root(raw: str, uri: str) -> str:
    """Decode a path that must lie below the root, as it is written."""
    try:
        path = unquote(raw, errors="strict")
    except UnicodeDecodeError as error:
        raise NotFoundError(f"no resource: {uri}") from error
    parts = path.split("/")
    if path and (not is_path(path) or any(part in ("", ".", "..") for part in parts)):
        raise NotFoundError(f"no path of an index: {path!r}")
    return path


def _values_of(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"
        )
    except ValueError as error:
        raise InvalidInputError("the query of the URI cannot be read") from error
    values = dict(pairs)
    if len(values) < len(pairs):
        raise InvalidInputError("a parameter of the URI is given twice")
    return values
