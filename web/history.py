"""Commits as text for terminals and as Markdown for prompts."""

from engine.history_records import CommitHit, HistoryAnswer
from engine.humanize import count
from engine.records import stored_commits
from web.markdown import closing_markdown, code_of
from web.terminal import Style, printable, printable_block
from web.text import closing_text

_SHORT_CHARS = 10  # of a commit's name
_MOST_BODY_LINES = 6


def short_name(commit: str) -> str:
    """Return the beginning of a commit's name, enough to name it."""
    return commit[:_SHORT_CHARS]


def more_files(hit: CommitHit) -> int:
    """Return how many files of a commit are not listed."""
    return hit.file_count - len(hit.files)


def commit_text(hit: CommitHit, style: Style) -> str:
    """Return a commit as lines: name, date, author; subject and message; files."""
    head = f"{style.place(short_name(hit.commit))}  {hit.date[:10]}  {printable(hit.author)}"
    if hit.score:
        head += style.dim(f"  {hit.score:.2f}  {', '.join(hit.why)}")
    lines = [head, f"    {style.bold(printable(hit.subject))}"]
    body = [line for line in printable_block(hit.body).splitlines() if line.strip()]
    lines += [f"    {line}" for line in body[:_MOST_BODY_LINES]]
    if len(body) > _MOST_BODY_LINES:
        lines.append(style.dim(f"    … {count(len(body) - _MOST_BODY_LINES, 'more line')}"))
    lines += [style.dim(f"    {printable(file.as_line())}") for file in hit.files]
    if more_files(hit):
        lines.append(style.dim(f"    and {count(more_files(hit), 'more file')}"))
    return "\n".join(lines)


def history_text(answer: HistoryAnswer, style: Style) -> str:
    """Return an answer as text."""
    blocks = [commit_text(hit, style) for hit in answer.commits]
    if not blocks:
        blocks = ["no commit matches"]
    blocks.append(closing_text(answer.notes, _totals(answer), style))
    return "\n\n".join(blocks) + "\n"


def history_markdown(answer: HistoryAnswer) -> str:
    """Return an answer as Markdown."""
    asked = code_of(answer.query) if answer.query else "the newest"
    blocks = [f"## Commits: {asked}"]
    for hit in answer.commits:
        head = f"### {code_of(short_name(hit.commit))} {printable(hit.subject)}"
        parts = [head, f"{hit.date[:10]}, {printable(hit.author)}"]
        if hit.body:
            parts.append(printable_block(hit.body))
        files = [f"- {code_of(file.as_line())}" for file in hit.files]
        files += [f"- and {count(more_files(hit), 'more file')}"] if more_files(hit) else []
        if files:
            parts.append("\n".join(files))
        blocks.append("\n\n".join(parts))
    if not answer.commits:
        blocks.append("no commit matches")
    blocks.append(closing_markdown(answer.notes, _totals(answer)))
    return "\n\n".join(blocks) + "\n"


def _totals(answer: HistoryAnswer) -> list[str]:
    coverage = answer.coverage
    found = f"{len(answer.commits)} of {count(answer.total, 'commit')}"
    covered = f"history {stored_commits(coverage.commits, coverage.extent)}"
    if coverage.since:
        covered += f" since {coverage.since[:10]}"
    return [found, covered, f"{answer.took_ms:.0f} ms"]
