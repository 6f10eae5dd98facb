"""The page of a symbol: its source, callers, callees, subtypes, tests, and all references."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.record_class import record
from engine.records import display_path
from engine.reference_records import (
    CallAnswer,
    CallEdge,
    Certainty,
    Dependent,
    ImpactAnswer,
    SymbolRelations,
)
from engine.search_records import SymbolHit
from web.api.service import Service
from web.pages.excerpts import Excerpt, Marks, Piece, Range, excerpt_of
from web.pages.neighbourhood import Neighbour, Neighbourhood, neighbourhood_of
from web.pages.rendering import (
    PageRequest,
    Pages,
    file_path,
    name_of,
    page,
    page_request_of,
    symbol_path,
)
from web.pages.tree import Place
from web.pages.uses import Here, request_of, shown_uses

_SOURCE_LINES = 12  # shown at first
_PAGE = 100  # references
_LISTED = 12  # callers or callees; the others are folded
_DOC_CHARS = 600  # of documentation that are not folded
_PARAGRAPHS = re.compile(r"\n\s*\n")
_OUTSIDE = "outside of functions"
_WORDS = {Certainty.EXACT: "exact", Certainty.LIKELY: "likely", Certainty.NAME: "by name"}


@record
class SymbolParams:
    """Parameters of the address."""

    name: str  # qualified; empty: any that begins in the line
    line: int
    role: str  # the only references shown
    number: int  # of their page, from 1
    with_tests: bool
    with_around: bool  # callers, callees and references, however long they take

    @property
    def is_about_uses(self) -> bool:
        """Whether the address names something of what is around the symbol."""
        return self.with_around or self.with_tests or bool(self.role) or self.number > 1


def read_params(
    name: Annotated[str, QueryParameter(max_length=1000)] = "",
    line: Annotated[int, QueryParameter(ge=0, le=10**9)] = 1,
    uses: Annotated[str, QueryParameter(max_length=20)] = "",
    number: Annotated[int, QueryParameter(name="page", ge=1, le=10**5)] = 1,
    tests: str = "",
    around: str = "",
) -> SymbolParams:
    """Collect the parameters of the address."""
    return SymbolParams(
        name=name,
        line=line,
        role=uses,
        number=number,
        with_tests=tests == "yes",
        with_around=around == "yes",
    )


class CallPlace(NamedTuple):
    """A line with a call."""

    line: int
    address: str


class ShownCall(NamedTuple):
    """A function that calls or is called, or a type or method that implements or is a base."""

    name: str
    path: str
    line: int
    address: str  # of its page
    certainty: str
    is_test: bool
    depth: int
    via: str  # qualified name of the one nearer to the symbol
    calls: tuple[CallPlace, ...]


class ShownCalls(NamedTuple):
    """What is found in one direction, or the tests."""

    total: int
    truncated: bool
    first: tuple[ShownCall, ...]
    more: tuple[ShownCall, ...]  # folded
    notes: tuple[str, ...]


class ShownDoc(NamedTuple):
    """The documentation of a symbol."""

    first: str
    rest: str  # folded


class ShownOverload(NamedTuple):
    """Another definition of the qualified name."""

    symbol: SymbolHit
    address: str


class PageLink(NamedTuple):
    """A link to another page of the references."""

    label: str
    address: str


@get(
    "/p/{project_id:str}/symbol/{path:path}",
    dependencies={"params": Provide(read_params, sync_to_thread=False)},
)
async def symbol(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str,
    params: SymbolParams,
) -> Response[bytes]:
    """Render a symbol; for htmx the tests that reach it, or else what is around it."""
    page_request = page_request_of(request)

    def show() -> Response[bytes]:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        if page_request.is_fragment and params.with_tests:
            context: dict[str, Any] = {"tests": _tests(place, params)}
            return page(pages.html("parts/symbol_tests.html", page_request, context))
        if page_request.is_fragment:
            return page(
                pages.html("parts/symbol_around.html", page_request, _around(place, params))
            )
        return _whole(service, pages, page_request, place, params)

    return await service.executors.search.run(show)


def _whole(
    service: Service, pages: Pages, page_request: PageRequest, place: Place, params: SymbolParams
) -> Response[bytes]:
    brief = place.index.places.symbol(place.stored, params.name, params.line)
    if brief is None:
        nothing = {"place": place, "symbol": None, "name": params.name, "line": params.line}
        return page(pages.html("symbol.html", page_request, nothing), status=404)
    hit = brief.symbol
    here = Here(place.index.project_id)
    source = _source(service, place, hit)
    # What takes a while comes after the definition, unless it is what the address is about.
    is_later = brief.is_common and not params.is_about_uses
    context: dict[str, Any] = {
        "place": place,
        "symbol": hit,
        "name": hit.qualified_name,
        "file": _at(here, place.path, hit.line_start, hit.line_end),
        "source": source,
        "doc": None if _has_doc(source, hit.doc) else _doc_of(hit.doc),
        "overloads": [
            ShownOverload(each, _page_of(here, each.path, each.qualified_name, each.line_start))
            for each in brief.overloads
        ],
        "later": _address(place, hit, around="yes") if is_later else "",
    }
    if not is_later:
        context |= _around(place, params)
    return page(pages.html("symbol.html", page_request, context))


def _around(place: Place, params: SymbolParams) -> dict[str, Any]:
    """Return the callers, callees, types, tests and references of a symbol for its templates."""
    wanted = request_of(params.role, limit=_PAGE, offset=(params.number - 1) * _PAGE)
    around = place.index.places.relations(place.stored, params.name, params.line, wanted)
    if around is None:  # forgotten by now
        return {"around": None}
    hit = around.symbol
    here = Here(place.index.project_id)

    def references(role: str, number: int = 1) -> str:
        shown_page = "" if number == 1 else str(number)
        # Without a filter the address would be that of the definition alone.
        with_around = "" if role or shown_page else "yes"
        return f"{_address(place, hit, uses=role, page=shown_page, around=with_around)}#references"

    return {
        "around": around,
        "symbol": hit,
        "name": hit.qualified_name,
        "callers": _shown_calls(around.callers, here),
        "callees": _shown_calls(around.callees, here),
        "graph": _graph(around, here),
        "implementations": _shown_calls(around.implementations, here),
        "bases": _shown_calls(around.bases, here),
        "outside": [each for each in around.bases.notes if each not in around.found.notes],
        "tests": _tests(place, params) if params.with_tests else None,
        "with_tests": _address(place, hit, tests="yes"),
        "uses": shown_uses(around.found, hit.name, params.role, here, references),
        "role": params.role,
        "page_links": _page_links(around, params, references),
    }


def _address(place: Place, hit: SymbolHit, **wanted: str) -> str:
    return symbol_path(
        place.index.project_id, place.path, hit.qualified_name, hit.line_start, **wanted
    )


def _at(here: Here, path: str, first: int, last: int) -> str:
    return f"{file_path(here.project_id, display_path(path))}?lines={first}-{last}#L{first}"


def _page_of(here: Here, path: str, name: str, line: int) -> str:
    """Return the address of a function's page, or of the file for code outside of functions."""
    if name == path:
        return file_path(here.project_id, display_path(path))
    return symbol_path(here.project_id, path, name, line)


def _source(service: Service, place: Place, hit: SymbolHit) -> Excerpt:
    last = max(hit.line_start, hit.line_end)
    piece = Piece(
        project_id=place.index.project_id,
        path=place.path,
        hit=Range(hit.line_start, last),
        shown=Range(hit.line_start, min(last, hit.line_start + _SOURCE_LINES - 1)),
        marks=Marks(),
    )
    return excerpt_of(service, place.index.browse.content(place.path), piece)


def _has_doc(source: Excerpt, doc: str) -> bool:
    """Return whether the source shows the beginning of the documentation, as in Python."""
    first = next((line.strip() for line in doc.splitlines() if line.strip()), "")
    return any(first in "".join(piece.text for piece in line.pieces) for line in source.lines)


def _doc_of(text: str) -> ShownDoc | None:
    """Return the documentation, folded after whole paragraphs if it is long."""
    if not text.strip():
        return None
    first, *others = _PARAGRAPHS.split(text.strip())
    while others and len(first) + len(others[0]) <= _DOC_CHARS:
        first = f"{first}\n\n{others.pop(0)}"
    return ShownDoc(first, "\n\n".join(others))


def _shown_call(edge: CallEdge, here: Here) -> ShownCall:
    return ShownCall(
        name=_OUTSIDE if edge.name == edge.path else edge.name,
        path=display_path(edge.path),
        line=edge.line,
        address=_page_of(here, edge.path, edge.name, edge.line),
        certainty=_WORDS[edge.certainty],
        is_test=edge.is_test,
        depth=edge.depth,
        via=edge.via,
        calls=tuple(
            CallPlace(line, _at(here, edge.call_path, line, line)) for line in edge.call_lines
        ),
    )


def _shown_calls(answer: CallAnswer, here: Here) -> ShownCalls:
    return _folded([_shown_call(edge, here) for edge in answer.edges], answer)


def _folded(calls: Sequence[ShownCall], answer: CallAnswer | ImpactAnswer) -> ShownCalls:
    total = answer.total_tests if isinstance(answer, ImpactAnswer) else answer.total
    is_few = len(calls) <= _LISTED + 2
    shown = len(calls) if is_few else _LISTED
    return ShownCalls(
        total, answer.truncated, tuple(calls[:shown]), tuple(calls[shown:]), answer.notes
    )


def _tests(place: Place, params: SymbolParams) -> ShownCalls | None:
    answer = place.index.places.tests_of(place.stored, params.name, params.line)
    if answer is None:
        return None
    here = Here(place.index.project_id)
    return _folded([_shown_test(each, here) for each in answer.tests], answer)


def _shown_test(test: Dependent, here: Here) -> ShownCall:
    return ShownCall(
        name=name_of(display_path(test.path)) if test.name == test.path else test.name,
        path=display_path(test.path),
        line=test.line,
        address=_at(here, test.path, test.line, test.line)
        if test.is_titled
        else _page_of(here, test.path, test.name, test.line),
        certainty=_WORDS[test.certainty],
        is_test=test.is_test,
        depth=test.depth,
        via=test.via,
        calls=(),
    )


def _graph(around: SymbolRelations, here: Here) -> Neighbourhood | None:
    if not (around.callers.edges or around.callees.edges):
        return None
    return neighbourhood_of(
        around.symbol.qualified_name,
        list(_neighbours(around.callers.edges, here)),
        list(_neighbours(around.callees.edges, here)),
        totals=(around.callers.total, around.callees.total),
        lists=("#callers", "#callees"),
    )


def _neighbours(edges: Iterable[CallEdge], here: Here) -> Iterable[Neighbour]:
    for edge in edges:
        call = _shown_call(edge, here)
        name = call.path if edge.name == edge.path else call.name
        title = f"{name} in {call.path}:{call.line}, {call.certainty}"
        note = "" if edge.name == edge.path else name_of(call.path)
        yield Neighbour(name, note, call.address, edge.certainty.value, title)


def _page_links(around: SymbolRelations, params: SymbolParams, address: Any) -> list[PageLink]:
    last = math.ceil(around.found.total / _PAGE)
    links = []
    if params.number > 1:
        links.append(PageLink("Previous page", address(params.role, params.number - 1)))
    if params.number < last:
        links.append(PageLink("Next page", address(params.role, params.number + 1)))
    return links
