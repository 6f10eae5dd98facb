"""Answers as agents read them: places first, then code as it stands in the file."""

import json
from collections.abc import Sequence

from engine.records import Hit, SearchAnswer, SymbolHit
from web.markdown import search_markdown
from web.notes import notes_on
from web.schemas import answer_json
from web.terminal import printable, printable_block
from web.wording import count, percent

_NOTHING = "nothing found; try other words, parts of a name, or fewer filters"
_NO_MORE = "no more hits"
_DOC_CHARS = 200  # of a symbol's comment


def answer_text(answer: SearchAnswer, form: str, next_cursor: str | None) -> str:
    """Write an answer.

    Args:
        answer: What was found.
        form: ``text``, ``json`` or ``markdown``.
        next_cursor: What to ask for more with.
    """
    if form == "json":
        shape = {**answer_json(answer), "next_cursor": next_cursor}
        return json.dumps(shape, ensure_ascii=False, separators=(",", ":"))
    if form == "markdown":
        return search_markdown(answer, _totals(answer, next_cursor))
    several = len({hit.project for hit in answer.hits}) > 1
    nothing = _NO_MORE if answer.total else _NOTHING
    blocks = [_hit_text(hit, with_project=several) for hit in answer.hits] or [nothing]
    blocks += [f"note: {printable(note)}" for note in notes_on(answer)]
    blocks += [
        f"failed: {printable(each.project)}: {printable(each.message)}" for each in answer.errors
    ]
    blocks.append(_totals(answer, next_cursor))
    return "\n\n".join(blocks)


def _hit_text(hit: Hit, *, with_project: bool) -> str:
    path = f"{hit.project}/{hit.path}" if with_project else hit.path
    what = f" {hit.kind or ''} {printable(hit.symbol)}" if hit.symbol else ""
    stale = " (changed since it was indexed)" if hit.fresh is False else ""
    lines = [f"{printable(path)}:{hit.line_start}-{hit.line_end}{what}{stale}"]
    if hit.snippet:
        lines.append(printable_block(hit.snippet.rstrip("\r\n")))
    elif hit.signature:
        lines.append(printable(hit.signature))
    return "\n".join(lines)


def _totals(answer: SearchAnswer, next_cursor: str | None) -> str:
    found = f"{count(len(answer.hits), 'hit')} of {answer.total:,}"
    coverage = answer.coverage
    parts = [found + (" or more" if answer.truncated else "")]
    parts.append(f"coverage {percent(coverage.indexed)} of {count(coverage.files, 'file')}")
    if 0 < coverage.embedded < 1:
        parts.append(f"{percent(coverage.embedded)} with vectors")
    if not coverage.complete:
        parts.append("the index is not complete: index_repository completes it")
    if answer.truncated and not next_cursor:
        parts.append("truncated")
    if next_cursor:
        parts.append(f"more with cursor {next_cursor}")
    return ", ".join(parts)


def symbols_text(hits: Sequence[SymbolHit], nothing: str) -> str:
    """Write symbols, one a line."""
    lines = [
        f"{printable(hit.path)}:{hit.line_start}-{hit.line_end} {hit.kind} "
        f"{printable(hit.qualified_name)}"
        + (f"  {printable(hit.signature)}" if hit.signature else "")
        for hit in hits
    ]
    return "\n".join(lines) or nothing


def in_short(text: str) -> str:
    """Give the beginning of a comment."""
    return text if len(text) <= _DOC_CHARS else text[: _DOC_CHARS - 1] + "…"
