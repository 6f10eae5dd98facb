"""The symbols of a project: browsed by name, narrowed by kind, language and file."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.errors import EngineError
from engine.records import ListedSymbol, SymbolListRequest, SymbolPage, display_path
from web.api.service import Service
from web.errors import outcome_of
from web.pages.rendering import (
    Pages,
    Visit,
    name_of,
    page,
    project_path,
    symbols_path,
    visit_of,
)

_PAGE = 100
_MOST_VALUES = 12  # of a facet that are seen at once; the rest unfold

Text = Annotated[str, QueryParameter(max_length=4096)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the address of the page says."""

    project_id: str
    name: str
    kind: str
    language: str
    path: str
    cursor: str | None

    @property
    def request(self) -> SymbolListRequest:
        """The same, as the engine takes it."""
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
        """Give the page's address, some of it changed; from its first page on."""
        return symbols_path(self.project_id, **{**self.filters, **changed})


class Value(NamedTuple):
    """One of the values of a facet."""

    label: str
    number: int
    address: str  # with it chosen, or given up again
    is_active: bool


class Facet(NamedTuple):
    """A property of symbols, and its values."""

    title: str
    values: tuple[Value, ...]
    more: tuple[Value, ...]  # unfold


class Blame(NamedTuple):
    """A filter that can be given up."""

    filter: str
    value: str
    address: str
    number: int | None  # symbols without it; None: nobody counted


class Shown(NamedTuple):
    """A symbol, with what matched in its name."""

    symbol: ListedSymbol
    before: str
    match: str
    after: str


def asked_for(  # each part of an address is an argument
    project_id: str,
    name: Text = "",
    kind: Text = "",
    language: Text = "",
    path: Text = "",
    cursor: str | None = None,
) -> Asked:
    """Gather what the address of the page says."""
    return Asked(
        project_id=project_id,
        name=name.strip(),
        kind=kind,
        language=language,
        path=path.strip(),
        cursor=cursor or None,
    )


@get(
    "/p/{project_id:str}/symbols",
    dependencies={"asked": Provide(asked_for, sync_to_thread=False)},
)
async def symbols(
    request: Request[Any, Any, Any], service: Service, pages: Pages, asked: Asked
) -> Response[bytes]:
    """Show the symbols of a project; for htmx only the parts that change."""
    visit = visit_of(request)
    try:
        body = await service.lanes.search.run(lambda: _answered(service, pages, visit, asked))
    except EngineError as error:
        if "field" not in error.details:
            raise
        return await _refused(service, pages, visit, asked, error)
    is_whole = visit.is_fragment and not asked.cursor
    return page(body, headers={"HX-Replace-Url": asked.address()} if is_whole else {})


def _answered(service: Service, pages: Pages, visit: Visit, asked: Asked) -> bytes:
    started = time.perf_counter()
    index = service.index_of(asked.project_id)
    found = index.browse.symbols(asked.request)
    facts = {
        **_frame(display_path(index.root), asked),
        "found": found,
        "shown": [_shown(symbol, asked.name) for symbol in found.items],
        "facets": (
            _facet("Kind", "kind", found.kinds, asked),
            _facet("Language", "language", found.languages, asked),
        ),
        "blamed": _blamed(found, asked),
        "took_ms": (time.perf_counter() - started) * 1000,
    }
    template = "symbols.html"
    if visit.is_fragment:
        template = "parts/symbol_rows.html" if asked.cursor else "parts/symbols.html"
    return pages.html(template, visit, facts)


async def _refused(
    service: Service, pages: Pages, visit: Visit, asked: Asked, error: EngineError
) -> Response[bytes]:
    """Explain at the boxes what is wrong; what was found before stays."""

    def show() -> bytes:
        root = display_path(service.index_of(asked.project_id).root)
        facts = {**_frame(root, asked), "error": error}
        template = "parts/symbol_problem.html" if visit.is_fragment else "symbols.html"
        return pages.html(template, visit, facts)

    headers = {"HX-Retarget": "#problem", "HX-Reswap": "outerHTML"} if visit.is_fragment else {}
    body = await service.work(show)
    return page(body, status=outcome_of(error).http_status, headers=headers)


def _frame(root: str, asked: Asked) -> dict[str, Any]:
    return {
        "asked": asked,
        "project": name_of(root),
        "root": root,
        "here": project_path(asked.project_id),
        "found": None,
        "error": None,
    }


def _shown(symbol: ListedSymbol, wanted: str) -> Shown:
    """Give a symbol with the first place in its name that has what is asked for."""
    name, folded = symbol.name, symbol.name.lower()
    at = folded.find(wanted.lower()) if wanted and len(folded) == len(name) else -1
    if at < 0:
        return Shown(symbol, name, "", "")
    end = at + len(wanted)
    return Shown(symbol, name[:at], name[at:end], name[end:])


def _facet(title: str, name: str, counts: Mapping[str, int], asked: Asked) -> Facet:
    chosen = asked.filters.get(name, "")
    numbers = {**counts, chosen: counts.get(chosen, 0)} if chosen else counts
    values = [
        Value(label, number, asked.address(**{name: "" if label == chosen else label}), True)
        if label == chosen
        else Value(label, number, asked.address(**{name: label}), False)
        for label, number in numbers.items()
    ]
    values.sort(key=lambda value: not value.is_active)
    return Facet(title, tuple(values[:_MOST_VALUES]), tuple(values[_MOST_VALUES:]))


def _blamed(found: SymbolPage, asked: Asked) -> list[Blame]:
    """Say of each filter what is found without it, as far as that was counted."""
    if found.total:
        return []
    without = {"kind": sum(found.kinds.values()), "language": sum(found.languages.values())}
    return [
        Blame(name, value, asked.address(**{name: ""}), without.get(name))
        for name, value in asked.filters.items()
        if without.get(name) != 0
    ]
