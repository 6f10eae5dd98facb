"""The parameters in the address of a file's page."""

import re
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from litestar.params import QueryParameter

from engine.record_class import record
from engine.search_records import Mode
from web.pages.facets import clean_query
from web.pages.name_panel import NameParams

_VERSION = re.compile(r"[0-9a-f]{7,64}")

Text = Annotated[str, QueryParameter(name="q", max_length=4096)]


@record
class OriginQuery:
    """The query that led to a file."""

    query: str = ""
    mode: Mode = Mode.HYBRID
    project: str = ""  # id of the project that it was limited to; empty: all

    @property
    def parts(self) -> dict[str, str]:
        """The parameters of the query in addresses of results and files."""
        parts = {"q": self.query, "mode": self.mode.value}
        return {**parts, "project": self.project} if self.project else parts


@record
class FileParams:
    """Parameters of the address."""

    origin: OriginQuery  # the query that led here
    name: NameParams  # the name whose definitions and references are shown
    lines: str = ""  # selected, such as 10-20
    match: int = 0  # the number of its current match
    version: str = ""  # content hash in a permalink
    view: str = ""  # preview or source; empty: as the other parameters want it
    has_blame: bool = False  # whether it is shown who changed the lines
    waits_for_blame: bool = False  # even if the page has to wait for it

    @property
    def wants_preview(self) -> bool:
        """Whether a file with a preview is shown so: no place in its source is named."""
        is_place_named = bool(self.lines or self.origin.query or self.name.is_asked)
        if self.view or self.has_blame:
            return self.view == "preview"
        return not is_place_named

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The parameters that stay when a name is shown."""
        return [*self._kept_always, *self.blame_part.items()]

    @property
    def blame_part(self) -> dict[str, str]:
        """The parameter that shows who changed the lines, if it is there."""
        return {"blame": "1"} if self.has_blame else {}

    def blamed(self, blame: str) -> str:
        """Return the query part of the address that shows who changed the lines, or hides it.

        Args:
            blame: ``1``: it may arrive after the page, ``wait``: with it, empty: it is hidden.
        """
        shown = ("blame", blame) if blame else ("view", "source")
        return urlencode([*self._kept_always, *self._lines_part, shown])

    def viewed(self, view: str, *, with_lines: bool = True) -> str:
        """Return the query part of the address of a view: preview or source."""
        lines = self._lines_part if with_lines else []
        return urlencode([*self._kept_always, *lines, ("view", view)])

    @property
    def _lines_part(self) -> list[tuple[str, str]]:
        return [("lines", self.lines)] if self.lines else []

    @property
    def _kept_always(self) -> list[tuple[str, str]]:
        return [
            *(self.origin.parts.items() if self.origin.query else []),
            *([("match", str(self.match))] if self.origin.query and self.match else []),
            *([("at", self.version)] if self.version else []),
        ]


def read_origin(text: Text = "", mode: Mode = Mode.HYBRID, project: str = "") -> OriginQuery:
    """Return the query that led to a file."""
    return OriginQuery(query=clean_query(text, mode), mode=mode, project=project)


class Shown(NamedTuple):
    """How a file is shown."""

    view: str
    has_blame: bool
    waits_for_blame: bool


def read_shown(view: str = "", blame: str = "") -> Shown:
    """Return how a file is shown."""
    return Shown(view, blame in ("1", "wait"), blame == "wait")


def read_params(
    name_params: NameParams,
    origin: OriginQuery,
    shown: Shown,
    lines: str = "",
    match: int = 0,
    at: str = "",
) -> FileParams:
    """Collect the parameters of the address."""
    return FileParams(
        lines=lines,
        origin=origin,
        name=name_params,
        match=match,
        version=at if _VERSION.fullmatch(at) else "",
        view=shown.view,
        has_blame=shown.has_blame,
        waits_for_blame=shown.waits_for_blame,
    )
