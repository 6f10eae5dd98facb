"""Files of a project: list them, read their indexed text, explain why a path is found."""

from typing import Annotated

from litestar import Response, get
from litestar.di import Provide
from litestar.openapi import ResponseSpec
from litestar.params import HeaderParameter, QueryParameter

from engine.browse_records import FileContent, FilePage, ListRequest, PathExplanation, SkipPage
from web.api.requests import PageCursor, PageLimit
from web.api.service import Service
from web.api.shapes import ProjectId, RecordResponse
from web.api.symbols import SymbolList

_TAGS = ("files",)
_BASE = "/projects/{project_id:str}"

PathOfFile = Annotated[
    str,
    QueryParameter(
        min_length=1,
        description="relative to the root, or absolute",
        examples=None,
        max_length=4096,
    ),
]
Folder = Annotated[
    str,
    QueryParameter(
        max_length=4096, description="list only what is below this folder; relative to the root"
    ),
]


def list_request_of(
    folder: Folder = "", limit: PageLimit = 100, cursor: PageCursor = None
) -> ListRequest:
    """Gather the query parameters of a list by path."""
    return ListRequest(folder=folder, limit=limit, cursor=cursor)


_WANTED = {"wanted": Provide(list_request_of, sync_to_thread=False)}


@get(
    f"{_BASE}/files",
    operation_id="listFiles",
    summary="Indexed files",
    tags=_TAGS,
    dependencies=_WANTED,
)
async def list_files(
    service: Service,
    project_id: ProjectId,
    wanted: ListRequest,
    language: Annotated[
        str | None, QueryParameter(description="only files in this language")
    ] = None,
) -> FilePage:
    """List the indexed files of a project, ordered by path."""
    return await service.work(
        lambda: service.index_of(project_id).browse.files(wanted, language=language)
    )


@get(
    f"{_BASE}/skips",
    operation_id="listSkips",
    summary="Skipped files",
    tags=_TAGS,
    dependencies=_WANTED,
)
async def list_skips(
    service: Service,
    project_id: ProjectId,
    wanted: ListRequest,
    reason: Annotated[
        str | None, QueryParameter(description="only those with this reason, e.g. too_large")
    ] = None,
) -> SkipPage:
    """List the files and folders of a project that are not indexed, with their reasons."""
    return await service.work(
        lambda: service.index_of(project_id).browse.skips(wanted, reason=reason)
    )


@get(
    f"{_BASE}/content",
    operation_id="readFile",
    summary="The text of a file",
    tags=_TAGS,
    responses={304: ResponseSpec(None, description="Not modified")},
)
async def read_file(
    service: Service,
    project_id: ProjectId,
    path: PathOfFile,
    if_none_match: Annotated[
        str | None,
        HeaderParameter(name="If-None-Match", description="ETags that the client has cached"),
    ] = None,
) -> Response[FileContent]:
    """Return the indexed text of a file with an ETag; 304 if the client's copy is current."""
    content = await service.work(lambda: service.index_of(project_id).browse.content(path))
    tag = _tag_of(content)
    if if_none_match is not None and _is_among(tag, if_none_match):
        return Response(None, status_code=304, headers={"ETag": tag})  # type: ignore[arg-type]
    return RecordResponse(content, headers={"ETag": tag})


@get(
    f"{_BASE}/raw",
    operation_id="readRawFile",
    summary="The plain text of a file",
    tags=_TAGS,
    media_type="text/plain",
)
async def read_raw_file(service: Service, project_id: ProjectId, path: PathOfFile) -> Response[str]:
    """Return only the indexed text of a file, as plain text that no browser executes."""
    content = await service.work(lambda: service.index_of(project_id).browse.content(path))
    return Response(content.text, media_type="text/plain", headers={"ETag": _tag_of(content)})


@get(f"{_BASE}/outline", operation_id="outline", summary="Symbols of a file", tags=_TAGS)
async def outline(service: Service, project_id: ProjectId, path: PathOfFile) -> SymbolList:
    """Return the definitions in a file, in source order."""

    def read() -> SymbolList:
        index = service.index_of(project_id)
        found = index.outline(path)
        return SymbolList(
            symbols=tuple(found), notes=index.stale_notes([index.browse.stored_path(path)])
        )

    return await service.work(read)


@get(f"{_BASE}/why", operation_id="why", summary="Why a path is found or not", tags=_TAGS)
async def why(service: Service, project_id: ProjectId, path: PathOfFile) -> PathExplanation:
    """Explain why a path is found or not and what the next run would do; it need not exist."""
    return await service.work(lambda: service.index_of(project_id).why(path))


def _tag_of(content: FileContent) -> str:
    """Return the ETag; not the hash alone, as the same file can be stored with other redactions."""
    return f'"{content.sha256[:32]}-{content.size_bytes}-{content.redactions}"'


def _is_among(tag: str, wanted: str) -> bool:
    tags = [each.strip().removeprefix("W/") for each in wanted.split(",")]
    return "*" in tags or tag in tags


HANDLERS = (list_files, list_skips, read_file, read_raw_file, outline, why)
