"""The history of one project: commits that answer a question, one commit, and lines' last ones."""

from typing import Annotated

from litestar import Response, get
from litestar.params import PathParameter

from engine.history_records import Blame, CommitHit, HistoryAnswer, HistoryRequest
from engine.telemetry.metrics import measured_search
from web.api.files import PathOfFile
from web.api.requests import in_url
from web.api.service import Service
from web.api.shapes import ProjectId, RecordResponse


@get(
    "/projects/{project_id:str}/commits",
    operation_id="findCommits",
    summary="Commits",
    tags=("files",),
    dependencies={"wanted": in_url(HistoryRequest)},
)
async def find_commits(
    service: Service, project_id: ProjectId, wanted: HistoryRequest
) -> Response[HistoryAnswer]:
    """Find commits by meaning and word, or list the newest."""

    def find() -> RecordResponse:
        with measured_search("history"):
            return RecordResponse(service.index_of(project_id).history.search(wanted))

    return await service.executors.search.run(find)


@get(
    "/projects/{project_id:str}/commits/{name:str}",
    operation_id="showCommit",
    summary="A commit",
    tags=("files",),
)
async def show_commit(
    service: Service,
    project_id: ProjectId,
    name: Annotated[
        str, PathParameter(description="its name, or 4 or more digits of its beginning")
    ],
) -> Response[CommitHit]:
    """Return a commit with the files that it changed."""

    def show() -> RecordResponse:
        return RecordResponse(service.index_of(project_id).history.commit(name))

    return await service.executors.search.run(show)


@get(
    "/projects/{project_id:str}/blame",
    operation_id="blame",
    summary="The last commit of each line",
    tags=("files",),
)
async def blame(service: Service, project_id: ProjectId, path: PathOfFile) -> Response[Blame]:
    """Return which commit changed each line of a file last, as the file was indexed."""

    def follow() -> RecordResponse:
        index = service.index_of(project_id)
        content = index.browse.content(path)
        stored = index.browse.stored_path(content.path)
        return RecordResponse(index.history.blame(stored, content))

    return await service.executors.search.run(follow)


HANDLERS = (find_commits, show_commit, blame)
