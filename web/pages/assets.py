"""Templates and static files: where they are, and how the latter are served.

Static files are read once. An address with the file's hash may be kept for a year, since other
contents have another address; one without is asked for again each time.
"""

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.exceptions import NotFoundException
from litestar.params import QueryParameter

_HERE = Path(__file__).resolve().parents[1]
_TAG_CHARS = 16
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A static file."""

    body: bytes
    media_type: str
    tag: str  # of its contents


def folder_of(name: str) -> Path:
    """Give the folder ``templates`` or ``static``: beside the package, or in a wheel inside it."""
    inside = _HERE / name
    return inside if inside.is_dir() else _HERE.parent / name


@cache
def assets() -> Mapping[str, Asset]:
    """Give all static files by name."""
    found = {}
    for file in sorted(folder_of("static").iterdir()):
        if _NAME.fullmatch(file.name) or file.suffix == ".txt":
            body = file.read_bytes()
            guessed = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            found[file.name] = Asset(
                body=body,
                media_type=_TYPES.get(file.suffix, guessed),
                tag=hashlib.sha256(body).hexdigest()[:_TAG_CHARS],
            )
    return found


def address_of(name: str) -> str:
    """Give the address of a static file, which changes with its contents."""
    return f"/static/{name}?v={assets()[name].tag}"


@get("/static/{name:str}", include_in_schema=False)
async def static_file(
    request: Request[Any, Any, Any],
    name: str,
    version: Annotated[str, QueryParameter(name="v")] = "",
) -> Response[bytes]:
    """Give a static file; 304 when the browser has it."""
    asset = assets().get(name)
    if asset is None:
        raise NotFoundException
    tag = f'"{asset.tag}"'
    headers = {"ETag": tag, "Cache-Control": _FOR_EVER if version == asset.tag else _ASK_AGAIN}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers)
    return Response(asset.body, media_type=asset.media_type, headers=headers)
