"""Images of a project, so that pages can show them; none can run as a document."""

from http import HTTPStatus
from pathlib import PurePosixPath

from litestar import Response, get
from litestar.exceptions import NotFoundException

from engine.errors import FileNotIndexedError
from web.api.service import Service
from web.pages.tree import Place

_TYPES = {
    ".gif": "image/gif",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}
#: In force beside the policy of every answer.
_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "Cache-Control": "no-cache",
}


def is_image(path: str) -> bool:
    """Return whether a path has the ending of an image that browsers show."""
    return PurePosixPath(path.lower()).suffix in _TYPES


@get("/p/{project_id:str}/image/{path:path}")
async def image(service: Service, project_id: str, path: str) -> Response[bytes]:
    """Return an image: an SVG as indexed, any other if it is skipped as binary, from the disk."""
    if not is_image(path):
        raise NotFoundException

    def read() -> bytes | None:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        try:
            return place.index.browse.content(place.path).text.encode()
        except FileNotIndexedError:
            if place.index.why(place.stored).reason != "binary":
                return None
            return place.index.browse.folders.image(place.stored)

    found = await service.work(read)
    if found is None:
        raise NotFoundException
    media_type = _TYPES[PurePosixPath(path.lower()).suffix]
    return Response(found, status_code=HTTPStatus.OK, media_type=media_type, headers=_HEADERS)
