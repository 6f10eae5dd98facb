"""Searches across projects: choose them by the query's filters, merge answers, cut pages.

A project that fails is reported and does not fail the others.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from engine.budget import within_budget
from engine.errors import ContextNotFoundError, EngineError, NotFoundError
from engine.parameters import check_request
from engine.project import Project
from engine.records import Coverage, bytes_within, display_path
from engine.roots import is_project_id, named, project_id_of, resolve
from engine.search.merge import LEAST_DEPTH, ProjectAnswer, comparable_hits, without_looser
from engine.search.query import ALIASES, FILTERS, FilterTerm, Query, is_of_commits, parse_query
from engine.search_records import Mode, ProjectError, SearchAnswer, SearchRequest

if TYPE_CHECKING:
    from engine.memories.search import MemoryQuery
    from engine.memory_records import Checkpoint, FoundMemories
    from engine.search.pattern_search import SearchTime
    from engine.state_records import ProjectContext

#: The filters of the query language, as they are written.
FILTER_NAMES = FILTERS
#: Other names of filters.
FILTER_ALIASES = ALIASES
#: Return whether a query asks for commits.
is_about_commits = is_of_commits

Answered = TypeVar("Answered")


def search_all(
    paths: Sequence[str], request: SearchRequest, open_project: Callable[[str], Project]
) -> SearchAnswer:
    """Search projects one after the other, each once; see ``Catalog.search``.

    Args:
        paths: How projects are named; two names of one project count once.
        request: The request.
        open_project: Opens a project by such a name.
    """
    if len(paths) == 1:
        return open_project(paths[0]).search(request)
    check_request(request)
    started = time.perf_counter()
    deep = replace(request, limit=max(request.limit, LEAST_DEPTH))
    search_time = _search_time(request)
    answered = _ask_all(
        paths, open_project, lambda index: index.search_for_merge(deep, search_time)
    )
    found = list(answered.answers.values())
    if len(found) == 1 and not answered.failures:
        answer = found[0].answer
        hits, is_cut = answer.hits[: request.limit], len(answer.hits) > request.limit
        answer = replace(answer, hits=hits, truncated=answer.truncated or is_cut)
        return within_budget(answer, request.max_tokens)
    took_ms = (time.perf_counter() - started) * 1000
    roots = [index.root for index in answered.answers]
    merged = _merged(request, roots, found, _errors_of(answered.failures), took_ms)
    return within_budget(merged, request.max_tokens)


def _search_time(request: SearchRequest) -> "SearchTime | None":
    """Return the time that the patterns of a request may take in all projects together."""
    if not _query_of(request).patterns:
        return None
    from engine.search.pattern_search import SearchTime  # RE2, which other queries do not need

    return SearchTime()


def search_all_memories(
    paths: Sequence[str], asked: "MemoryQuery", open_project: Callable[[str], Project]
) -> "FoundMemories":
    """Search the memories of projects; see ``Catalog.search_memories``.

    Args:
        paths: As for ``search_all``.
        asked: The query, for memories alone.
        open_project: Opens a project by such a name.
    """
    from engine.memories.search import ranked_places
    from engine.memories.vectors import deadline
    from engine.memory_records import MAX_ANSWER_BYTES, FoundMemories

    expired = deadline()  # for all projects together
    answered = _ask_all(
        paths, open_project, lambda index: index.checkpoints.search_for_merge(asked, expired)
    )
    projects = list(answered.answers)
    ranked = ranked_places(list(answered.answers.values()), asked)
    failures = dict(answered.failures)
    found: list[Checkpoint] = []
    tokens = 0
    for place, score in ranked[: asked.limit]:
        if bytes_within(tokens) > MAX_ANSWER_BYTES:
            break
        project = projects[place.project]
        try:
            memory = project.checkpoints.memory(place.memory_id)
        except EngineError as error:
            failures.setdefault(project.root, error)
            continue
        if memory:
            found.append(replace(memory, score=score))
            tokens += memory.token_count
    return FoundMemories(memories=tuple(found), errors=_errors_of(failures.items()))


class _Answers(NamedTuple, Generic[Answered]):
    """The answers of projects, in the order in which they were asked."""

    answers: Mapping[Project, Answered]
    failures: Sequence[tuple[str, EngineError]]  # with the projects, as they were named


def _ask_all(
    paths: Sequence[str],
    open_project: Callable[[str], Project],
    ask: Callable[[Project], Answered],
) -> _Answers[Answered]:
    """Ask projects one after the other, each once.

    Raises:
        EngineError: Every project failed; the first error.
    """
    answers: dict[Project, Answered] = {}
    failures: list[tuple[str, EngineError]] = []
    searched: set[str] = set()
    for path in paths:
        try:
            index = open_project(path)
            if index.root not in searched:
                searched.add(index.root)
                answers[index] = ask(index)
        except EngineError as error:
            failures.append((path, error))
    if not answers and failures:
        raise failures[0][1]
    return _Answers(answers, failures)


def _errors_of(failures: Iterable[tuple[str, EngineError]]) -> tuple[ProjectError, ...]:
    """Return failures as an answer reports them."""
    return tuple(
        ProjectError(project=path, error=error.code, message=error.message)
        for path, error in failures
    )


def whole_request(request: SearchRequest, offset: int) -> SearchRequest:
    """Return the request for all pages up to the wanted one."""
    return replace(request, limit=offset + request.limit, max_tokens=None)


def page_of(answer: SearchAnswer, request: SearchRequest, offset: int) -> SearchAnswer:
    """Return the page of an answer that a request is about.

    Args:
        answer: To ``whole_request``.
        request: The page: its size and its budget.
        offset: Hits of earlier pages.
    """
    return within_budget(replace(answer, hits=answer.hits[offset:]), request.max_tokens)


def _merged(
    request: SearchRequest,
    roots: Sequence[str],
    found: Sequence[ProjectAnswer],
    errors: tuple[ProjectError, ...],
    took_ms: float,
) -> SearchAnswer:
    """Merge answers by scores that are made comparable."""
    found = without_looser(found)
    answers = [each.answer for each in found]
    hits = comparable_hits(found)
    files = sum(answer.coverage.files for answer in answers)
    found_files = [answer.coverage.found for answer in answers]
    missing = _missing_from_all(answers)
    elsewhere = {name.note for each in found for name in each.missing if name.name not in missing}
    elsewhere.update(_known_elsewhere(found))
    return SearchAnswer(
        query=request.query,
        mode=request.mode,
        took_ms=took_ms,
        total=sum(answer.total for answer in answers),
        truncated=len(hits) > request.limit or any(answer.truncated for answer in answers),
        coverage=Coverage.of(
            files=files,
            found=None if None in found_files else sum(each or 0 for each in found_files),
            embedded=_weighted([(a.coverage.embedded, a.coverage.files) for a in answers]),
            complete=all(answer.coverage.complete for answer in answers),
        ),
        hits=tuple(hits[: request.limit]),
        errors=errors,
        notes=_notes_of(roots, answers, without=elsewhere),
        missing=missing,
    )


def _notes_of(
    roots: Sequence[str], answers: Sequence[SearchAnswer], *, without: Collection[str]
) -> tuple[str, ...]:
    """Return notes on all projects once, and notes on some of them with their names."""
    of: dict[str, list[str]] = {}
    for root, answer in zip(roots, answers, strict=True):
        for note in answer.notes:
            of.setdefault(note, []).append(os.path.basename(display_path(root)) or "/")
    return tuple(
        note if len(names) == len(answers) else f"in {', '.join(names)}: {note}"
        for note, names in of.items()
        if note not in without
    )


def _missing_from_all(answers: Sequence[SearchAnswer]) -> tuple[str, ...]:
    """Return the names that no project has, of those that answered."""
    named = dict.fromkeys(name for answer in answers for name in answer.missing)
    return tuple(name for name in named if all(name in answer.missing for answer in answers))


def _known_elsewhere(found: Sequence[ProjectAnswer]) -> Iterator[str]:
    """Yield the notes on names that a project does not know, and another one does."""
    unknown = [{each.name for each in answer.unknown} for answer in found]
    for answer in found:
        yield from (
            each.note for each in answer.unknown if not all(each.name in of for of in unknown)
        )


def _weighted(shares: Sequence[tuple[float, int]]) -> float:
    """Return the mean share, weighted by files."""
    files = sum(weight for _, weight in shares)
    return sum(share * weight for share, weight in shares) / files if files else 1.0


def names_projects(request: SearchRequest) -> bool:
    """Return whether a query selects projects.

    Raises:
        InvalidQueryError: The query cannot be read.
    """
    query = _query_of(request)
    return bool(query.values("project") or query.values("context"))


def contexts_in(request: SearchRequest) -> list[str]:
    """Return the names of the contexts that a query searches."""
    return [term.value for term in _query_of(request).values("context") if not term.negated]


def with_notes(answer: SearchAnswer, notes: Sequence[str], request: SearchRequest) -> SearchAnswer:
    """Return an answer with further notes, those that are not empty, within its budget."""
    more = tuple(filter(None, notes))
    if not more:
        return answer
    return within_budget(replace(answer, notes=(*answer.notes, *more)), request.max_tokens)


def chosen_projects(
    paths: list[str],
    request: SearchRequest,
    *,
    context_of: "Callable[[str], ProjectContext]",
    root_of: Callable[[str], str | None],
) -> list[str]:
    """Return the projects that match the ``project:`` and ``context:`` filters of a query.

    A value of ``project:`` matches the end of a project's path, whole folders only, or the start of
    its id. If no project matches so, it matches any part of a name, of 3 characters or more. Of a
    filter that is given twice either may match, and both filters must.

    Args:
        paths: Projects by their paths or ids.
        request: The request.
        context_of: Returns the context of a name.
        root_of: Returns the path of an id, if it is known.

    Raises:
        ContextNotFoundError: A context is unknown; ``position`` tells where.
        NotFoundError: No project is left.
    """
    query = _query_of(request)
    chosen = paths

    def known(paths: Sequence[str]) -> dict[str, str]:
        """Return the projects by their paths, or by their ids if the paths are unknown."""
        return {(root_of(path) if is_project_id(path) else None) or path: path for path in paths}

    def named(paths: Sequence[str], term: FilterTerm) -> list[str]:
        return _named(known(paths), term)

    def in_context(paths: Sequence[str], term: FilterTerm) -> list[str]:
        return _in_context(paths, term, context_of)

    for name, find in (("project", named), ("context", in_context)):
        filters = query.values(name)
        included = [find(paths, term) for term in filters if not term.negated]
        refused = [find(paths, term) for term in filters if term.negated]
        chosen = [
            path
            for path in chosen
            if (not included or any(path in found for found in included))
            and not any(path in found for found in refused)
        ]
        if filters and not chosen:
            typed = " ".join(f"{'-' * term.negated}{name}:{term.value}" for term in filters)
            raise NotFoundError(
                f"no project matches {typed}",
                hint=_listed([each for each in known(paths) if not is_project_id(each)]),
                position=filters[0].position,
            )
    return chosen


def _listed(paths: Sequence[str]) -> str:
    return f"projects: {', '.join(paths)}" if paths else ""


def _named(paths: Mapping[str, str], term: FilterTerm) -> list[str]:
    return [paths[path] for path in named(paths, term.value)]


def _in_context(
    paths: Sequence[str], term: FilterTerm, context_of: "Callable[[str], ProjectContext]"
) -> list[str]:
    try:
        context = context_of(term.value)
    except ContextNotFoundError as error:
        error.details["position"] = term.position
        raise
    ids = {each.project_id for each in context.projects}
    return [path for path in paths if _id_of(path) in ids]


def _id_of(path: str) -> str:
    return path if is_project_id(path) else project_id_of(resolve(path))


def _query_of(request: SearchRequest) -> Query:
    return parse_query(request.query, as_pattern=request.mode is Mode.REGEX)
