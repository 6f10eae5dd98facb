"""The page of a commit: its message, the files that it changed, and their changed lines."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from litestar import Request, Response, get
from markupsafe import Markup, escape

from engine.errors import Cancelled, UnavailableError
from engine.history_records import ChangedPath, DiffLine, FileDiff
from engine.humanize import printable
from engine.records import display_path
from web.api.service import Service
from web.pages.facets import plain_value
from web.pages.rendering import (
    PageRequest,
    Pages,
    box_scope,
    commits_path,
    file_path,
    name_of,
    page,
    page_request_of,
)


class ShownFile(NamedTuple):
    """A file that the commit changed."""

    file: ChangedPath
    address: str  # of its page; empty for a deleted one
    history: str  # address of the commits that changed it
    diff: FileDiff

    @property
    def counts(self) -> tuple[int, int] | None:
        """Lines that came and went: as compared, else as stored; None: not counted."""
        for each in (self.diff, self.file):
            if each.added is not None and each.removed is not None:
                # What is stored does not count moved lines: without any other it says nothing.
                is_told = each is self.diff or each.added or each.removed
                return (each.added, each.removed) if is_told else None
        return None

    @property
    def hunks(self) -> list[Markup]:
        """The lines of each hunk as HTML."""
        return [_rows_of(hunk.lines) for hunk in self.diff.hunks]


def _rows_of(lines: Sequence[DiffLine]) -> Markup:
    """Return changed lines as HTML; a template would take three times as long."""
    texts = str(escape("\n".join(printable(line.text) for line in lines))).split("\n")
    made: list[str] = []
    for line, text in zip(lines, texts, strict=True):
        css, sign = (
            (" added", "+")
            if line.old is None
            else (" removed", "−")  # noqa: RUF001 - the sign of a number
            if line.new is None
            else ("", " ")
        )
        made.append(
            f'<div class="line{css}"><span class="n" data-n="{line.old or ""}"></span>'
            f'<span class="n" data-n="{line.new or ""}"></span><span class="sign">{sign}</span>'
            f"<code>{text}</code></div>"
        )
    return Markup("".join(made))  # noqa: S704 - all text is escaped


@get("/p/{project_id:str}/commit/{name:str}")
async def commit(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str, name: str
) -> Response[bytes]:
    """Render the commit of a name, which may be shortened."""
    page_request = page_request_of(request)

    def show() -> bytes:
        return _commit(service, pages, page_request, project_id, name)

    return page(await service.executors.commits.run(show))


def _commit(
    service: Service, pages: Pages, page_request: PageRequest, project_id: str, name: str
) -> bytes:
    index = service.index_of(project_id)
    found = index.history.commit(name)
    try:
        diffs = index.history.diff(found, lambda: service.is_shutting_down)
    except Cancelled as error:
        raise UnavailableError("the server is shutting down and stopped this work") from error
    context = {
        "scope": box_scope(project_id, index.root),
        "name": name_of(display_path(index.root)),
        "commit": found,
        "commits": commits_path(project_id),
        "by_author": commits_path(project_id, f"author:{plain_value(found.email)}"),
        "files": [
            _shown(file, diff, project_id) for file, diff in zip(found.files, diffs, strict=True)
        ],
        "no_files": index.history.why_no_files(found),
        "more": found.file_count - len(found.files),
    }
    return pages.html("commit.html", page_request, context)


def _shown(file: ChangedPath, diff: FileDiff, project_id: str) -> ShownFile:
    return ShownFile(
        file,
        "" if file.change == "deleted" else file_path(project_id, file.path),
        commits_path(project_id, f"path:{plain_value(f'/{file.path}')}"),
        diff,
    )
