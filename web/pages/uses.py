"""Uses of a definition for people: grouped by file, with the name marked in its line."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from engine.records import display_path
from engine.reference_records import Certainty, FoundUses, Reference, Use, UsesRequest
from web.pages.rendering import file_path

#: The value of the filter for uses in tests, beside the values of ``Use``.
TESTS = "tests"
_NAME_CHARS = r"[\w$]"


class Part(NamedTuple):
    """A part of a line of code."""

    text: str
    is_name: bool


class ShownUse(NamedTuple):
    """A line with uses."""

    reference: Reference  # the first one of the line
    roles: str
    address: str
    parts: tuple[Part, ...]
    is_here: bool  # the place that the uses were asked for
    places: tuple[str, ...]  # in the file of the page, as line:column


class FileUses(NamedTuple):
    """The uses in one file."""

    path: str
    address: str
    is_test: bool
    is_here: bool  # the file of the page
    lines: tuple[ShownUse, ...]
    number: int  # of uses


class Role(NamedTuple):
    """A filter of uses, with its number."""

    label: str
    number: int
    address: str
    is_active: bool


class Here(NamedTuple):
    """The page that shows uses."""

    project_id: str
    path: str = ""  # of the file that it shows
    line: int = 0  # of the name that was asked for
    column: int = 0
    columns: int = 0  # that there is room for in a line of code; 0: enough


class ShownUses(NamedTuple):
    """Uses as shown: those that are certain or likely by file, the others folded."""

    found: FoundUses
    roles: tuple[Role, ...]
    files: tuple[FileUses, ...]
    by_name: tuple[FileUses, ...]
    number: int  # of those shown

    @property
    def by_name_shown(self) -> int:
        """How many are folded."""
        return sum(file.number for file in self.by_name)


def request_of(role: str, *, limit: int, offset: int = 0) -> UsesRequest:
    """Return the request for a filter of an address; an unknown one is none."""
    use = Use(role) if role in set(Use) else None
    return UsesRequest(use=use, in_tests=role == TESTS, limit=limit, offset=offset)


def shown_uses(
    found: FoundUses, name: str, role: str, here: Here, address: Callable[[str], str]
) -> ShownUses:
    """Prepare uses for a page.

    Args:
        found: The uses.
        name: The name, to be marked.
        role: The filter in use; empty: none.
        here: The page.
        address: Returns the address of the page with a filter.
    """
    sure = [each for each in found.references if each.certainty is not Certainty.NAME]
    other = [each for each in found.references if each.certainty is Certainty.NAME]
    return ShownUses(
        found,
        roles_of(found, role, address),
        _by_file(sure, name, here),
        _by_file(other, name, here),
        len(found.references),
    )


def roles_of(found: FoundUses, role: str, address: Callable[[str], str]) -> tuple[Role, ...]:
    """Return the filters that pass something, the whole first, then as ``Use`` orders them."""
    numbers: Mapping[str, int] = {**found.uses, TESTS: found.in_tests}
    names = [*(use.value for use in Use), TESTS]
    whole = Role("all", sum(found.uses.values()), address(""), role not in names)
    return (
        whole,
        *(
            Role(_LABELS.get(each, each), numbers[each], address(each), each == role)
            for each in names
            if numbers.get(each) or (each == role and each in numbers)
        ),
    )


_LABELS = {TESTS: "in tests"}


def _by_file(uses: Iterable[Reference], name: str, here: Here) -> tuple[FileUses, ...]:
    by_path: dict[str, list[Reference]] = {}
    for each in uses:
        by_path.setdefault(each.path, []).append(each)
    return tuple(_file_uses(path, found, name, here) for path, found in by_path.items())


def _file_uses(path: str, uses: Sequence[Reference], name: str, here: Here) -> FileUses:
    shown = display_path(path)
    is_here = shown == here.path
    address = file_path(here.project_id, shown)
    lines = [list(found) for _, found in groupby(uses, lambda each: each.line)]
    return FileUses(
        shown,
        address,
        uses[0].is_test,
        is_here,
        tuple(_shown_use(found, address, name, here, is_here=is_here) for found in lines),
        len(uses),
    )


def _shown_use(
    uses: Sequence[Reference], file: str, name: str, here: Here, *, is_here: bool
) -> ShownUse:
    first = uses[0]
    fragment = f"#L{first.line}"
    return ShownUse(
        first,
        ", ".join(dict.fromkeys(each.use.value for each in uses)),
        # A fragment alone keeps the panel of this page.
        fragment if is_here else f"{file}?lines={first.line}-{first.line}{fragment}",
        tuple(_parts(first.text, name, here.columns)),
        is_here and any((each.line, each.column) == (here.line, here.column) for each in uses),
        tuple(f"{each.line}:{each.column}" for each in uses) if is_here else (),
    )


def _parts(text: str, name: str, columns: int) -> Iterator[Part]:
    """Split a line at the whole words that are the name, which is shown where there is room."""
    pattern = rf"(?<!{_NAME_CHARS})({re.escape(name)})(?!{_NAME_CHARS})"
    found = re.search(pattern, text)
    if columns and found and found.end() > columns:
        text = f"…{text[max(0, found.start() - columns // 2) :]}"
    for number, part in enumerate(re.split(pattern, text)):
        if part:
            yield Part(part, bool(number % 2))
