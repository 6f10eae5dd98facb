"""Commits as hits of a search: what ``type:commit`` finds, in the shape of all answers.

The place of a commit is ``commit:`` with the beginning of its name; its text tells who made it
when, the rest of its message, and the files that it changed.
"""

from engine.errors import InvalidInputError
from engine.history.search import HistorySearch
from engine.history_records import CommitHit, HistoryAnswer, HistoryRequest
from engine.records import Coverage
from engine.search.cache import WordCounts
from engine.search.merge import ProjectAnswer
from engine.search_records import Hit, Mode, SearchAnswer, SearchRequest

#: What the path of a hit begins with that is a commit.
COMMIT_PREFIX = "commit:"
_NAME_CHARS = 12


def find_commits(
    history: HistorySearch, request: SearchRequest, coverage: Coverage
) -> ProjectAnswer:
    """Answer a search for commits.

    Args:
        history: The commits of the project.
        request: The search; its query has ``type:commit``.
        coverage: Of the project's files.

    Raises:
        InvalidInputError: The query or a field of the request is not about commits.
    """
    if request.mode in (Mode.SYMBOL, Mode.REGEX):
        raise InvalidInputError(
            f"the mode {request.mode} finds code, not commits",
            hint="hybrid, meaning and keyword find commits; without type:commit it finds code",
            field="mode",
        )
    for field in ("language", "kind", "branch", "file"):
        if getattr(request, field) is not None:
            raise InvalidInputError(f"{field} is about code, not about commits", field=field)
    for field in ("tests", "vendored", "generated"):
        if not getattr(request, field):
            raise InvalidInputError(f"{field} is about code, not about commits", field=field)
    asked = HistoryRequest(query=request.query, path=request.path, limit=request.limit)
    found = history.search(asked, by_meaning=request.mode is not Mode.KEYWORD)
    detailed = len(found.commits) if request.detailed is None else request.detailed
    hits = [
        hit_of_commit(found, commit, has_text=request.context and number < detailed)
        for number, commit in enumerate(found.commits)
    ]
    answer = SearchAnswer(
        query=request.query,
        mode=request.mode,
        took_ms=found.took_ms,
        total=found.total,
        truncated=found.truncated,
        coverage=coverage,
        hits=tuple(hits),
        notes=found.notes,
    )
    return ProjectAnswer(answer, (), None, WordCounts(0, {}))


def hit_of_commit(answer: HistoryAnswer, commit: CommitHit, *, has_text: bool) -> Hit:
    """Return a commit as a hit."""
    text = _text_of(commit)
    return Hit(
        project=answer.project,
        path=COMMIT_PREFIX + commit.commit[:_NAME_CHARS],
        line_start=1,
        line_end=text.count("\n") + 1,
        language="commit",
        symbol=None,
        kind="commit",
        signature=None,
        score=commit.score,
        why=commit.why,
        fresh=None,
        snippet=text if has_text else "",
        summary=f"{commit.date[:10]} {commit.subject}",
    )


def _text_of(commit: CommitHit) -> str:
    lines = [f"{commit.date[:10]} {commit.author} <{commit.email}>"]
    if commit.body:
        lines += ["", *commit.body.splitlines()]
    files = [file.as_line() for file in commit.files]
    if commit.file_count > len(files):
        files.append(f"and {commit.file_count - len(files):,} more")
    return "\n".join([*lines, "", *files]).rstrip()
