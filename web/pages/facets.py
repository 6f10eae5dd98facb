"""Facets beside the results: each value is a link that edits the filters in the query.

Values have no numbers: what a filter finds is another search, which ranks other candidates and may
match in other ways than a hit shows, so counts of hits would differ from what a click opens.

The pattern for filters repeats a part of the query language, since links must keep the rest of the
query exactly as typed; a property test compares it with the parser.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from engine.browse_records import BranchSummary
from engine.cross_project import FILTER_ALIASES, FILTER_NAMES
from engine.search_records import Hit, Mode
from web.pages.rendering import name_of

_MAX_VALUES = 8
_ALL_BRANCHES = "*"
_NAMES = "|".join((*FILTER_NAMES, *FILTER_ALIASES))
_TERM = re.compile(
    rf"""(?<!\S)(?:"(?:[^"\\]|\\.)*"|/(?:[^/\\\s]|\\.)+/(?!\S)"""
    rf"""|(?P<filter>(?P<negation>-|NOT\s+)?(?P<name>{_NAMES}):(?!:|//)(?P<value>"(?:[^"\\]|\\.)*"|\S+)))"""
)
_PLAIN = re.compile(r'(?!:|//)[^\s"\\]+')


class Filter(NamedTuple):
    """A filter in a query."""

    name: str
    value: str
    is_negated: bool
    text: str  # as typed, with its minus or NOT
    start: int
    end: int


class Value(NamedTuple):
    """A value of a facet."""

    label: str
    query: str  # with the filter added, or removed again
    is_active: bool


class Facet(NamedTuple):
    """A property of hits, with its values."""

    title: str
    name: str  # of the filter
    values: tuple[Value, ...]  # the most frequent first


def clean_query(typed: str, mode: str) -> str:
    """Strip a query, except a pattern, where spaces at its ends count."""
    bare = typed.strip()
    return typed if bare and mode == Mode.REGEX else bare


def filters_in(query: str, *, as_pattern: bool = False) -> list[Filter]:
    """Return the filters in a query, in order; in a pattern, ``NOT`` is text of the pattern."""
    found = []
    for match in _TERM.finditer(query):
        if not match["filter"]:
            continue
        is_text = as_pattern and match["negation"] not in (None, "-")
        start = match.start("name" if is_text else "filter")
        found.append(
            Filter(
                name=FILTER_ALIASES.get(match["name"], match["name"]),
                value=_unquoted(match["value"]),
                is_negated=match["negation"] is not None and not is_text,
                text=query[start : match.end()],
                start=start,
                end=match.end(),
            )
        )
    return found


def without(query: str, taken: Filter) -> str:
    """Return a query without one of its filters and the space beside it."""
    before, after = query[: taken.start], query[taken.end :]
    if before[-1:].isspace():
        before = before[:-1]
    else:
        after = after[1:]
    return before + after


def with_filter(query: str, name: str, value: str) -> str:
    """Return a query with one more filter."""
    written = f"{name}:{plain_value(value)}"
    return f"{query} {written}" if query.strip() else written


def plain_value(value: str) -> str:
    """Return the value of a filter, quoted if necessary."""
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def facets_of(
    query: str,
    hits: Sequence[Hit],
    branches: Sequence[BranchSummary] = (),
    *,
    as_pattern: bool = False,
) -> list[Facet]:
    """Return the facets of which a value leaves out some hits, and those already used as filters.

    Args:
        query: As typed.
        hits: The best ones; their snippets are not used.
        branches: Branches of the hits' projects.
        as_pattern: The query is of mode ``regex``.
    """
    active = filters_in(query, as_pattern=as_pattern)
    counted = [
        ("Project", "project", Counter(name_of(hit.project) for hit in hits)),
        ("Language", "lang", Counter(hit.language for hit in hits)),
        ("Kind", "kind", Counter(hit.kind for hit in hits if hit.kind)),
        ("Folder", "path", Counter(_folders(hits, active))),
        ("Tag", "tag", Counter([*(tag for hit in hits for tag in hit.tags), *_endings(hits)])),
    ]
    if hits and hits[0].kind == "commit":  # which have no other property of files
        counted = counted[:1]
    facets = []
    for title, name, counts in counted:
        counts.pop("", None)
        used = [each for each in active if each.name == name and not each.is_negated]
        if not used and all(number == len(hits) for number in counts.values()):
            continue
        values = [Value(each.value, without(query, each), True) for each in used]
        taken = {each.value for each in used}
        values += [
            Value(label, with_filter(query, name, label), False)
            for label, _ in counts.most_common(_MAX_VALUES)
            if label not in taken and not (used and name != "path")
        ]
        facets.append(Facet(title, name, tuple(values)))
    return [*facets, *_branch_facet(query, active, branches)]


def _branch_facet(
    query: str, active: Sequence[Filter], branches: Sequence[BranchSummary]
) -> list[Facet]:
    """Return the facet of branches if there are several or the query names any.

    A value adds its branch to those that are searched; ``*`` is all of them.
    """
    used = [each for each in active if each.name == "branch"]
    named = [each for each in branches if each.name]
    if len(named) < 2 and not used:
        return []
    values = [Value(_branch_label(each), without(query, each), True) for each in used]
    wanted = {each.value for each in used if not each.is_negated}
    if _ALL_BRANCHES not in wanted:
        taken = {each.value for each in used}
        left = [each for each in named if each.name not in taken and (wanted or not each.is_here)]
        values += [
            Value(each.name, with_filter(query, "branch", each.name), False)
            for each in left[: _MAX_VALUES + 1]
        ]
        bare = query
        for each in reversed(used):
            bare = bare if each.is_negated else without(bare, each)
        every = with_filter(bare, "branch", _ALL_BRANCHES)
        values += [Value("all branches", every, False)] if left else []
    return [Facet("Branch", "branch", tuple(values))] if values else []


def _branch_label(used: Filter) -> str:
    if used.is_negated:
        return f"not {used.value}"
    return "all branches" if used.value == _ALL_BRANCHES else used.value


def _folders(hits: Sequence[Hit], active: Sequence[Filter]) -> list[str]:
    """Return each hit's folder, one level below the deepest filter that contains it, or ""."""
    wanted = [each.value for each in active if each.name == "path" and not each.is_negated]
    bases = [f"{value.rstrip('/')}/" for value in wanted]
    folders = []
    for hit in hits:
        around = [each for each in bases if hit.path.startswith(each.removeprefix("/"))]
        base = max(around, key=len, default="")
        head, slash, _ = hit.path.removeprefix(base.removeprefix("/")).partition("/")
        folders.append(f"{base}{head}/" if slash else "")
    return folders


def _endings(hits: Sequence[Hit]) -> list[str]:
    """Return the ending of each hit's file, without those that tell no more than its language."""
    pairs = Counter((_ending(hit.path), hit.language) for hit in hits)
    endings = Counter(ending for ending, _ in pairs)
    languages = Counter(language for _, language in pairs)
    return [
        ending
        for (ending, language), number in pairs.items()
        if endings[ending] > 1 or languages[language] > 1
        for _ in range(number)
    ]


def _ending(path: str) -> str:
    stem, dot, ending = name_of(path).rpartition(".")
    return f".{ending}" if dot and stem and _PLAIN.fullmatch(ending) else ""


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
