"""The symbols of a project, filtered by name, kind, language and path."""

import time
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.browse_records import ListedSymbol, SymbolListRequest, SymbolPage
from engine.errors import EngineError
from engine.record_class import record
from engine.records import display_path
from web.api.service import Service
from web.errors import outcome_of
from web.pages.rendering import (
    PageRequest,
    Pages,
    name_of,
    page,
    page_request_of,
    project_path,
    symbols_path,
)

_PAGE = 100
_MAX_VALUES = 12  # of a facet; the rest is folded

Text = Annotated[str, QueryParameter(max_length=4096)]


@record
class SymbolParams:
    """Parameters of the address."""

    project_id: str
    name: str
    kind: str
    language: str
    path: str
    cursor: str | None

    @property
    def request(self) -> SymbolListRequest:
        """The request for the engine."""
        return SymbolListRequest(
            name=self.name,
            kind=self.kind or None,
            language=self.language or None,
            path=self.path,
            limit=_PAGE,
            cursor=self.cursor,
        )

    @property
    def filters(self) -> dict[str, str]:
        """The filters in use."""
        found = {
            "name": self.name,
            "kind": self.kind,
            "language": self.language,
            "path": self.path,
        }
        return {name: value for name, value in found.items() if value}

    def address(self, **changed: str) -> str:
        """Return the address of the first page with some parameters changed."""
        return symbols_path(self.project_id, **{**self.filters, **changed})


class Value(NamedTuple):
    """A value of a facet."""

    label: str
    number: int
    address: str  # with the filter added, or removed again
    is_active: bool


class Facet(NamedTuple):
    """A property of symbols, with its values."""

    title: str
    values: tuple[Value, ...]
    more: tuple[Value, ...]  # folded


class RelaxedFilter(NamedTuple):
    """The list without one of its filters, and how many symbols it has."""

    filter: str
    value: str
    address: str
    number: int | None  # None: not counted


class ShownSymbol(NamedTuple):
    """A symbol with the match in its name."""

    symbol: ListedSymbol
    before: str
    match: str
    after: str


def read_params(
    project_id: str,
    name: Text = "",
    kind: Text = "",
    language: Text = "",
    path: Text = "",
    cursor: str | None = None,
) -> SymbolParams:
    """Collect the parameters of the address."""
    return SymbolParams(
        project_id=project_id,
        name=name.strip(),
        kind=kind,
        language=language,
        path=path.strip(),
        cursor=cursor or None,
    )


@get(
    "/p/{project_id:str}/symbols",
    dependencies={"params": Provide(read_params, sync_to_thread=False)},
)
async def symbols(
    request: Request[Any, Any, Any], service: Service, pages: Pages, params: SymbolParams
) -> Response[bytes]:
    """Render the symbols of a project; for htmx the changing parts."""
    page_request = page_request_of(request)
    try:
        body = await service.executors.search.run(
            lambda: _answered(service, pages, page_request, params)
        )
    except EngineError as error:
        if "field" not in error.details:
            raise
        return await _query_error(service, pages, page_request, params, error)
    is_whole = page_request.is_fragment and not params.cursor
    return page(body, headers={"HX-Replace-Url": params.address()} if is_whole else {})


def _answered(
    service: Service, pages: Pages, page_request: PageRequest, params: SymbolParams
) -> bytes:
    started = time.perf_counter()
    index = service.index_of(params.project_id)
    found = index.browse.symbols(params.request)
    context = {
        **_page_context(display_path(index.root), params),
        "found": found,
        "shown": [_shown(symbol, params.name) for symbol in found.symbols],
        "facets": (
            _facet("Kind", "kind", found.kinds, params),
            _facet("Language", "language", found.languages, params),
        ),
        "relaxed": _relaxed(found, params),
        "took_ms": (time.perf_counter() - started) * 1000,
    }
    template = "symbols.html"
    if page_request.is_fragment:
        template = "parts/symbol_rows.html" if params.cursor else "parts/symbols.html"
    return pages.html(template, page_request, context)


async def _query_error(
    service: Service,
    pages: Pages,
    page_request: PageRequest,
    params: SymbolParams,
    error: EngineError,
) -> Response[bytes]:
    """Show the error of a filter at the boxes; the last list stays."""

    def show() -> bytes:
        root = display_path(service.index_of(params.project_id).root)
        context = {**_page_context(root, params), "error": error}
        template = "parts/symbol_problem.html" if page_request.is_fragment else "symbols.html"
        return pages.html(template, page_request, context)

    headers = (
        {"HX-Retarget": "#problem", "HX-Reswap": "outerHTML"} if page_request.is_fragment else {}
    )
    body = await service.work(show)
    return page(body, status=outcome_of(error).http_status, headers=headers)


def _page_context(root: str, params: SymbolParams) -> dict[str, Any]:
    return {
        "params": params,
        "project": name_of(root),
        "root": root,
        "here": project_path(params.project_id),
        "found": None,
        "error": None,
    }


def _shown(symbol: ListedSymbol, wanted: str) -> ShownSymbol:
    """Return a symbol with the first match in its name."""
    name, folded = symbol.name, symbol.name.lower()
    at = folded.find(wanted.lower()) if wanted and len(folded) == len(name) else -1
    if at < 0:
        return ShownSymbol(symbol, name, "", "")
    end = at + len(wanted)
    return ShownSymbol(symbol, name[:at], name[at:end], name[end:])


def _facet(title: str, name: str, counts: Mapping[str, int], params: SymbolParams) -> Facet:
    chosen = params.filters.get(name, "")
    numbers = {**counts, chosen: counts.get(chosen, 0)} if chosen else counts
    values = [
        Value(label, number, params.address(**{name: "" if label == chosen else label}), True)
        if label == chosen
        else Value(label, number, params.address(**{name: label}), False)
        for label, number in numbers.items()
    ]
    values.sort(key=lambda value: not value.is_active)
    return Facet(title, tuple(values[:_MAX_VALUES]), tuple(values[_MAX_VALUES:]))


def _relaxed(found: SymbolPage, params: SymbolParams) -> list[RelaxedFilter]:
    """Return an empty list's filters that can be removed, with counts where known."""
    if found.total:
        return []
    without = {"kind": sum(found.kinds.values()), "language": sum(found.languages.values())}
    return [
        RelaxedFilter(name, value, params.address(**{name: ""}), without.get(name))
        for name, value in params.filters.items()
        if without.get(name) != 0
    ]
