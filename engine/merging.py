"""How the answers of several projects become one, and one answer a page of it."""

from collections.abc import Sequence
from dataclasses import replace

from engine.records import Coverage, Hit, ProjectError, SearchAnswer, SearchRequest
from engine.search.snippet import cut_to_tokens


def whole_request(request: SearchRequest, offset: int) -> SearchRequest:
    """Give the request for all pages up to the wanted one, whose budget is its own."""
    return replace(request, limit=offset + request.limit, max_tokens=None)


def page_of(answer: SearchAnswer, request: SearchRequest, offset: int) -> SearchAnswer:
    """Give the page of an answer that a request is about.

    Args:
        answer: To ``whole_request``.
        request: The page: its size and its budget.
        offset: Hits of earlier pages.
    """
    shown, is_cut = _inside_budget(list(answer.hits[offset:]), request.max_tokens)
    return replace(answer, hits=tuple(shown), truncated=answer.truncated or is_cut)


def merged(
    request: SearchRequest,
    answers: Sequence[SearchAnswer],
    errors: tuple[ProjectError, ...],
    took_ms: float,
) -> SearchAnswer:
    """Merge answers; scores compare, each being a sum of shares of the best possible."""
    hits: list[Hit] = sorted(
        (hit for answer in answers for hit in answer.hits), key=lambda hit: -hit.score
    )
    files = sum(answer.coverage.files for answer in answers)
    shown, is_cut = _inside_budget(hits[: request.limit], request.max_tokens)
    return SearchAnswer(
        query=request.query,
        mode=request.mode,
        took_ms=took_ms,
        total=sum(answer.total for answer in answers),
        truncated=is_cut
        or len(hits) > request.limit
        or any(answer.truncated for answer in answers),
        coverage=Coverage(
            files=files,
            indexed=_weighted([(a.coverage.indexed, a.coverage.files) for a in answers]),
            embedded=_weighted([(a.coverage.embedded, a.coverage.files) for a in answers]),
            complete=all(answer.coverage.complete for answer in answers),
        ),
        hits=tuple(shown),
        errors=errors,
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
    )


def _inside_budget(hits: list[Hit], max_tokens: int | None) -> tuple[list[Hit], bool]:
    """Cut the snippets of several projects to one budget; True when something was cut."""
    if max_tokens is None:
        return hits, False
    left = max_tokens
    shown = []
    for hit in hits:
        snippet, cost = cut_to_tokens(hit.snippet, left)
        left -= cost
        shown.append(replace(hit, snippet=snippet))
    return shown, [hit.snippet for hit in shown] != [hit.snippet for hit in hits]


def _weighted(shares: Sequence[tuple[float, int]]) -> float:
    """Give the mean share, weighted by files."""
    files = sum(weight for _, weight in shares)
    return sum(share * weight for share, weight in shares) / files if files else 1.0
