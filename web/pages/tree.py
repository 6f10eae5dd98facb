"""A folder: what is indexed in it and what is not; and a level of the tree of files."""

from typing import Any

from litestar import Request, Response, get

from engine.errors import FileNotIndexedError
from web.api.service import Service
from web.pages.places import Place, level_of
from web.pages.rendering import Pages, Visit, page, redirect, tree_path, visit_of

_ON_A_PAGE = 500


@get(["/p/{project_id:str}/tree", "/p/{project_id:str}/tree/{path:path}"])
async def tree(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str = "",
    after: int = 0,
) -> Response[bytes]:
    """Show a folder, after so many of its entries; for htmx a level of the tree of files."""
    visit = visit_of(request)
    folder = path.strip("/")

    def show() -> Response[bytes]:
        place = Place(index=service.index_of(project_id), path=folder)
        if visit.is_fragment:
            facts = {"level": level_of(place.index, folder)}
            return page(pages.html("parts/tree.html", visit, facts))
        return _folder(pages, visit, place, after)

    return await service.work(show)


def _folder(pages: Pages, visit: Visit, place: Place, after: int) -> Response[bytes]:
    index = place.index
    found = index.browse.folders.entries(place.path, limit=_ON_A_PAGE, offset=after)
    if not found.entries and place.path:
        outcome = index.why(place.path).outcome
        if outcome == "indexed":
            return redirect(place.address)
        if not found.total:
            raise FileNotIndexedError(
                f"there is no folder {place.path} in the index",
                hint="see the files of the project",
                path=place.path,
            )
    here = tree_path(index.project_id, place.path)
    later, before = after + _ON_A_PAGE, max(after - _ON_A_PAGE, 0)
    last = (found.total - 1) // _ON_A_PAGE * _ON_A_PAGE
    facts = {
        "place": place,
        "found": found,
        "first": after + 1,
        "last": f"{here}?after={last}" if last > 0 else here,
        "before": f"{here}?after={before}" if after else "",
        "later": f"{here}?after={later}" if later < found.total else "",
    }
    return page(pages.html("tree.html", visit, facts))
