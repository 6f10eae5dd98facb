"""Which projects a question is about: its ``project:`` filters."""

from engine.errors import NotFoundError
from engine.records import Mode, SearchRequest
from engine.roots import project_id_of, resolve
from engine.search.query import FILTERS, Query, parse_query

#: The filters of the query language, as they are written.
FILTER_NAMES = FILTERS
_SHORT_ID_CHARS = 6


def names_projects(request: SearchRequest) -> bool:
    """Say whether a question chooses among projects.

    Raises:
        InvalidQueryError: The query cannot be read.
    """
    return bool(_query_of(request).values("project"))


def chosen_projects(paths: list[str], request: SearchRequest) -> list[str]:
    """Give the projects that the ``project:`` filters of a query let through.

    A value matches the end of a project's path, whole folders only, or the start of its id.
    """
    filters = _query_of(request).values("project")
    wanted = [term.value for term in filters if not term.negated]
    refused = [term.value for term in filters if term.negated]
    chosen = [
        path
        for path in paths
        if (not wanted or any(is_called(path, value) for value in wanted))
        and not any(is_called(path, value) for value in refused)
    ]
    if filters and not chosen:
        raise NotFoundError(
            f"no project matches {' '.join(term.value for term in filters)}",
            hint="projects: " + ", ".join(paths),
        )
    return chosen


def _query_of(request: SearchRequest) -> Query:
    return parse_query(request.query, as_pattern=request.mode is Mode.REGEX)


def is_called(path: str, value: str) -> bool:
    """Say whether a value names a project: the end of its path, or the start of its id."""
    root = resolve(path)
    if f"{root}/".endswith(f"/{value.strip('/')}/"):
        return True
    return len(value) >= _SHORT_ID_CHARS and project_id_of(root).startswith(value.lower())
