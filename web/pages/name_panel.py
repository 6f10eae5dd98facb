"""The panel of a name in a file: what it means, and who uses that.

The address of a file with ``name=LINE:COLUMN`` shows it beside the code; for htmx it is the panel
alone.
"""

import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from litestar.params import QueryParameter

from engine.errors import EngineError
from engine.project import Project
from engine.record_class import record
from engine.records import display_path
from engine.reference_records import Certainty, Definition, NameAtPlace, Use
from engine.search_records import SymbolHit
from web.api.service import Service
from web.pages.excerpts import version_of
from web.pages.rendering import file_path, name_of, symbol_path
from web.pages.tree import Place
from web.pages.uses import Here, ShownUses, request_of, shown_uses

#: Headers of an answer with an error, which is shown in the panel too.
PANEL_ERROR = {"HX-Retarget": "#names-body", "HX-Reswap": "innerHTML"}
_NO_NAME = "There is no name in code at this place of the file."
_PLACE = re.compile(r"([1-9][0-9]{0,6}):([1-9][0-9]{0,6})")
_MAX_USES = 100
_COLUMNS = 36  # of a line of code
_MAX_DOC_CHARS = 300
_MAX_PROJECTS = 8  # asked for a name that this one does not define
_MAX_ELSEWHERE = 5
_ELSEWHERE_S = 0.25
_LINKS_S = 0.02
_WORDS = {Certainty.EXACT: "exact", Certainty.LIKELY: "likely", Certainty.NAME: "by name"}
_MEANINGS = {
    Certainty.EXACT: "by the scope, the import or the receiver in the text",
    Certainty.LIKELY: "by an inferred type, or because nothing else has this name",
    Certainty.NAME: "because it has the same name",
}


@record
class NameParams:
    """The name whose panel an address shows."""

    line: int = 0  # counted from 1; 0: none
    column: int = 0
    role: str = ""  # the only uses shown
    version: str = ""  # of the content in which the place is; empty: unknown

    @property
    def is_asked(self) -> bool:
        """Whether the address shows a panel."""
        return self.line > 0

    @property
    def place(self) -> str:
        """The place as written in the address."""
        return f"{self.line}:{self.column}"


def read_name(
    version: str, name: str = "", uses: Annotated[str, QueryParameter(max_length=20)] = ""
) -> NameParams:
    """Return the name of an address; what is no place is no name."""
    found = _PLACE.fullmatch(name)
    if found is None:
        return NameParams()
    return NameParams(line=int(found[1]), column=int(found[2]), role=uses, version=version)


class ShownDefinition(NamedTuple):
    """A definition of the panel."""

    symbol: SymbolHit
    path: str
    doc: str
    certainty: str
    meaning: str  # of the certainty
    is_sure: bool
    address: str
    page: str  # address of the symbol's page
    is_here: bool  # the name is the one of the definition itself


class Elsewhere(NamedTuple):
    """A definition of the name in another project."""

    project: str
    symbol: SymbolHit
    address: str


class NamePanel(NamedTuple):
    """The panel of a name."""

    params: NameParams
    close: str  # address of the page without it
    at: NameAtPlace | None  # None: there is no name at the place
    definitions: tuple[ShownDefinition, ...] = ()
    uses: ShownUses | None = None
    elsewhere: tuple[Elsewhere, ...] = ()
    problem: str = _NO_NAME
    is_outdated: bool = False  # the place is in another content than the file has now

    @property
    def place(self) -> str:
        """Where the name begins, as written in addresses."""
        return f"{self.at.line}:{self.at.column}" if self.at else self.params.place

    @property
    def whole(self) -> str:
        """Address of the page with all uses; empty if several definitions are meant."""
        return self.definitions[0].page if self.definitions and self.definitions[0].is_sure else ""


def name_panel(
    service: Service, place: Place, params: NameParams, kept: Sequence[tuple[str, str]]
) -> NamePanel:
    """Return the panel of a name.

    Args:
        service: For the other projects.
        place: The file.
        params: The name.
        kept: The other parameters of the address.

    Raises:
        FileNotIndexedError: The file is not in the index.
    """
    close = f"?{urlencode(kept)}#L{params.line}" if kept else f"{place.address}#L{params.line}"
    wanted = request_of(params.role, limit=_MAX_USES)
    at = place.index.places.name_at(place.stored, params.line, params.column, wanted)
    # Read after the name, so that a name of other content is never taken for the one of the place.
    version = version_of(place.index.browse.sha256(place.path))
    if params.version not in ("", version):
        return NamePanel(params, close, None, is_outdated=True)
    if at is None:
        return NamePanel(params, close, None)

    def address(role: str) -> str:
        parts = [
            *kept,
            ("of", version),
            ("name", params.place),
            *([("uses", role)] if role else []),
        ]
        return f"?{urlencode(parts, safe=':')}#L{params.line}"

    here = Here(place.index.project_id, place.path, at.line, at.column, _COLUMNS)
    return NamePanel(
        params,
        close,
        at,
        tuple(_shown(each, here, at) for each in at.definitions),
        shown_uses(at.found, at.name, params.role, here, address),
        () if at.definitions else tuple(_elsewhere(service, place.index, at.name)),
    )


def vanished_panel(place: Place, params: NameParams) -> NamePanel:
    """Return the panel for a file that is no longer in the index."""
    problem = f"{place.path} is no longer in the index."
    return NamePanel(params, place.address, None, problem=problem)


def _shown(definition: Definition, here: Here, at: NameAtPlace) -> ShownDefinition:
    symbol, certainty = definition.symbol, definition.certainty
    path = display_path(symbol.path)
    is_file = path == here.path
    anchor = f"#L{symbol.line_start}"
    file = file_path(here.project_id, path)
    return ShownDefinition(
        symbol=symbol,
        path=path,
        doc=first_paragraph(symbol.doc),
        certainty=_WORDS[certainty],
        meaning=_MEANINGS[certainty],
        is_sure=certainty is not Certainty.NAME,
        address=anchor
        if is_file
        else f"{file}?lines={symbol.line_start}-{symbol.line_end}{anchor}",
        page=symbol_path(here.project_id, path, symbol.qualified_name, symbol.line_start),
        is_here=is_file
        and at.use is Use.DEFINITION
        and symbol.line_start <= at.line <= symbol.line_end,
    )


def first_paragraph(doc: str) -> str:
    """Return the first paragraph of a documentation, cut when it is long."""
    text = " ".join(doc.strip().split("\n\n")[0].split())
    return text if len(text) <= _MAX_DOC_CHARS else f"{text[:_MAX_DOC_CHARS].rstrip()}…"


def names_elsewhere(service: Service, place: Place, language: str) -> frozenset[str]:
    """Return the names that a file imports and that other projects define.

    They are found as far as time allows: a project that was not read yet takes a few milliseconds.
    """
    others = _others(service, place.index)
    if not others:
        return frozenset()
    imported = " ".join(sorted(place.index.places.imported_names(place.stored)))
    deadline_s = time.monotonic() + _LINKS_S
    found: set[str] = set()
    for root in others if imported else ():
        if time.monotonic() > deadline_s:
            break
        with suppress(EngineError):  # a damaged index has a page of its own
            found |= service.index_of(root).places.defined_names(imported, language)
    return frozenset(found)


def _others(service: Service, index: Project) -> list[str]:
    """Return the roots of the first few other projects."""
    return [root for root in service.roots() if root != index.root][:_MAX_PROJECTS]


def _elsewhere(service: Service, index: Project, name: str) -> Iterable[Elsewhere]:
    """Yield definitions of a name in other projects, as far as they are found in time."""
    others = _others(service, index)
    deadline_s = time.monotonic() + _ELSEWHERE_S
    left = _MAX_ELSEWHERE
    for root in others:
        if left <= 0 or time.monotonic() > deadline_s:
            return
        try:
            other = service.index_of(root)
            hits = [hit for hit in other.symbols(name, limit=left) if hit.name == name]
        except EngineError:
            continue  # a damaged index has a page of its own
        for symbol in hits:
            path = display_path(symbol.path)
            lines = f"lines={symbol.line_start}-{symbol.line_end}#L{symbol.line_start}"
            address = f"{file_path(other.project_id, path)}?{lines}"
            yield Elsewhere(name_of(display_path(other.root)), symbol, address)
            left -= 1
