"""Answers as text for terminals and as Markdown for prompts; ``schemas`` has the JSON.

Text from a repository (paths, names, code, messages about them) passes ``printable`` before it is
shown, so that a file cannot send control sequences to the terminal.
"""

import re
from collections.abc import Sequence

from engine.humanize import count, duration, percent
from engine.records import (
    Coverage,
    Explanation,
    Hit,
    MatchSpan,
    Mode,
    SearchAnswer,
    SearchRequest,
    SymbolHit,
)
from web.terminal import Style, printable, printable_block

_BACKTICKS = re.compile("`+")


def search_text(answer: SearchAnswer, request: SearchRequest, style: Style) -> str:
    """Return a search answer as text: hits with their snippets, notes, then a line of totals.

    Args:
        answer: The answer.
        request: The search, for suggestions if nothing was found.
        style: Colours or none.
    """
    return _answer_text(answer, style, nothing=_nothing_found(answer, request))


def related_text(answer: SearchAnswer, style: Style) -> str:
    """Return similar code as text, in the form of a search answer."""
    return _answer_text(answer, style, nothing=f"nothing similar to {printable(answer.query)}")


def _answer_text(answer: SearchAnswer, style: Style, *, nothing: str) -> str:
    several = len({hit.project for hit in answer.hits}) > 1
    blocks = [hit_text(hit, style, with_project=several) for hit in answer.hits]
    if not blocks:
        blocks.append(nothing)
    notes = [style.warning(f"note: {printable(note)}") for note in notes_on(answer)]
    blocks.append("\n".join([*notes, style.dim(totals_line(answer))]))
    return "\n\n".join(blocks) + "\n"


def hit_text(hit: Hit, style: Style, *, with_project: bool) -> str:
    """Return a hit: place, kind, symbol and score; signature; code with line numbers; why."""
    place = f"{printable(hit.path)}:{hit.line_start}-{hit.line_end}"
    if with_project:
        place = f"{printable(hit.project)}/{place}"
    what = f"  {hit.kind or ''} {style.bold(printable(hit.symbol))}" if hit.symbol else ""
    lines = [f"{style.place(place)}{what}  {style.dim(f'[{hit.score:.2f}]')}"]
    if hit.fresh is False:
        lines.append(style.warning("  changed since it was indexed; run cairn index to update it"))
    if hit.signature:
        lines.append(f"  {printable(hit.signature)}")
    if hit.snippet:
        lines.extend(_numbered(hit, style))
    if hit.explain:
        lines.extend(style.dim(f"  {line}") for line in explanation_lines(hit.explain))
    elif hit.why:
        lines.append(style.dim("  why: " + ", ".join(printable(reason) for reason in hit.why)))
    return "\n".join(lines)


def explanation_lines(explanation: Explanation) -> list[str]:
    """Return the terms of a score, then for each word where the hit has it and how rare it is."""
    total = " + ".join(f"{name} {value:.4f}" for name, value in explanation.shares.items()) or "0"
    factors = [f"{name} {value:.4g}" for name, value in explanation.factors.items()]
    if factors and len(explanation.shares) > 1:
        total = f"({total})"
    lines = [f"score {explanation.score:.4f} = {' × '.join([total, *factors])}"]
    if explanation.keyword_rank is not None:
        lines.append(f"words BM25 {explanation.bm25:.2f}, rank {explanation.keyword_rank}")
    if explanation.meaning is not None:
        lines.append(
            f"meaning {explanation.meaning:.2f}, rank {explanation.meaning_rank};"
            f" of the path {explanation.file_meaning or 0.0:.2f}"
        )
    rows = [
        (printable(match.word), ", ".join(match.columns) or "-", count(match.chunks, "chunk"))
        for match in explanation.words
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    lines += [
        f"  {word:<{widths[0]}}  {where:<{widths[1]}}  in {many}" for word, where, many in rows
    ]
    return lines


def _numbered(hit: Hit, style: Style) -> list[str]:
    """Return the numbered lines of a snippet; matches are coloured, and their lines have a >."""
    code = hit.snippet.rstrip("\r\n").split("\n")
    first = hit.snippet_line or hit.line_start
    width = len(str(first + len(code) - 1))
    matches: dict[int, list[MatchSpan]] = {}
    for match in hit.matches:
        matches.setdefault(match.line, []).append(match)
    lines = []
    for number, line in enumerate(code, first):
        sign = ">" if number in matches else "|"
        text = _highlighted(line.removesuffix("\r"), matches.get(number, ()), style)
        lines.append(f"  {style.dim(f'{number:>{width}} {sign}')} {text}".rstrip())
    return lines


def _highlighted(line: str, matches: Sequence[MatchSpan], style: Style) -> str:
    pieces = []
    at = 0
    for match in matches:
        if at <= match.start < match.end <= len(line):
            pieces += [printable_block(line[at : match.start])]
            pieces += [style.match(printable_block(line[match.start : match.end]))]
            at = match.end
    return "".join([*pieces, printable_block(line[at:])])


def totals_line(answer: SearchAnswer) -> str:
    """Summarize an answer in one line: number of hits, time, and coverage."""
    found = f"{count(len(answer.hits), 'hit')} of {answer.total:,}"
    if answer.truncated:
        found += " or more"
    parts = [found, duration(answer.took_ms)]
    parts.append(_share_text(answer.coverage) if answer.notes else coverage_text(answer.coverage))
    if answer.truncated:
        parts.append("truncated; raise --limit or --max-tokens for more")
    return ", ".join(parts)


def coverage_text(coverage: Coverage) -> str:
    """Describe how much of a project is covered, and how to complete it."""
    text = _share_text(coverage)
    if not coverage.complete:
        text += ", the last indexing run did not finish or is still going; cairn index completes it"
    return text


def _share_text(coverage: Coverage) -> str:
    text = f"coverage {percent(coverage.indexed)} ({count(coverage.files, 'file')})"
    if 0 < coverage.embedded < 1:
        text += f", {percent(coverage.embedded)} with vectors"
    return text


def _nothing_found(answer: SearchAnswer, request: SearchRequest) -> str:
    filters = [
        f"--{name} {value}"
        for name, value in (
            ("language", request.language),
            ("path", request.path),
            ("kind", request.kind),
            ("branch", request.branch),
        )
        if value
    ]
    asked = f"nothing found for {printable(answer.query)!r} in mode {answer.mode.value}"
    lines = [f"{asked}, in {count(answer.coverage.files, 'file')}"]
    if filters:
        lines.append("  try: without " + printable(" ".join(filters)))
    if answer.mode in (Mode.HYBRID, Mode.MEANING, Mode.KEYWORD):
        lines.append("  try: other or fewer words, or parts of a name (user id for getUserById)")
    elif answer.mode is Mode.REGEX:
        lines.append("  try: case:no, and \\ before ( [ { . * + ? | $ ^ to match them literally")
    else:
        lines.append("  try: the same query without --mode")
    lines.append("  try: cairn why FILE, if you know which file should match")
    return "\n".join(lines)


def symbols_text(hits: Sequence[SymbolHit], style: Style, *, nothing: str) -> str:
    """Return symbols as two lines each: place and signature.

    Args:
        hits: In the order of the answer.
        style: Colours or none.
        nothing: The text if there are none.
    """
    if not hits:
        return nothing + "\n"
    several = len({hit.project for hit in hits}) > 1
    lines: list[str] = []
    for hit in hits:
        place = f"{printable(hit.path)}:{hit.line_start}-{hit.line_end}"
        if several:
            place = f"{printable(hit.project)}/{place}"
        name = style.bold(printable(hit.qualified_name))
        lines.append(f"{style.place(place)}  {hit.kind} {name}")
        if hit.signature:
            lines.append(f"  {style.dim(printable(hit.signature))}")
    return "\n".join(lines) + "\n"


def outline_text(hits: Sequence[SymbolHit], style: Style) -> str:
    """Return the symbols of a file as a tree in source order."""
    lines: list[str] = []
    open_ends: list[int] = []  # last lines of the enclosing symbols
    for hit in sorted(hits, key=lambda each: (each.line_start, -each.line_end)):
        while open_ends and open_ends[-1] < hit.line_end:
            open_ends.pop()
        span = style.dim(f"{hit.line_start:>6}-{hit.line_end:<6}")
        lines.append(f"{span} {'  ' * len(open_ends)}{hit.kind} {style.bold(printable(hit.name))}")
        open_ends.append(hit.line_end)
    return "\n".join(lines) + "\n"


def search_markdown(answer: SearchAnswer, totals: str = "") -> str:
    """Return a search answer as Markdown for a prompt.

    The match of a hit is its score relative to the best hit's. A fence is longer than any run of
    backticks in the code it holds, so that code cannot end it.

    Args:
        answer: The answer.
        totals: The last line; by default the same as in a terminal.
    """
    several = len({hit.project for hit in answer.hits}) > 1
    blocks = ["## Relevant Code from Index"]
    best = max((hit.score for hit in answer.hits), default=0.0)
    for number, hit in enumerate(answer.hits, 1):
        match = f"{round(100 * hit.score / best) if best > 0 else 0}% match"
        blocks.append(_hit_markdown(f"### {number}. {_name_of(hit)} ({match})", hit, several))
    if not answer.hits:
        blocks.append(f"Nothing found for {_code(answer.query)}.")
    blocks += [f"**Note**: {printable(note)}" for note in notes_on(answer)]
    blocks.append(f"_{totals or totals_line(answer)}_")
    return "\n\n".join(blocks) + "\n"


def _name_of(hit: Hit) -> str:
    return f"{hit.kind or 'symbol'} {_code(hit.symbol)}" if hit.symbol else _code(hit.path)


def _hit_markdown(heading: str, hit: Hit, several: bool) -> str:
    path = f"{hit.project}/{hit.path}" if several else hit.path
    lines = [heading, f"**File**: {_code(path)} L{hit.line_start}-{hit.line_end}"]
    if hit.signature:
        lines.append(f"**Signature**: {_code(hit.signature)}")
    if hit.fresh is False:
        lines.append("**Stale**: the file has changed since it was indexed")
    if hit.snippet:
        lines += ["", _fenced(hit.snippet, hit.language)]
    return "\n".join(lines)


def _fenced(code: str, language: str) -> str:
    text = printable_block(code.rstrip("\r\n"))
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """Return text as inline code, even if it contains backticks."""
    safe = printable(text)
    if "`" not in safe:
        return f"`{safe}`"
    fence = "`" * (_longest_run(safe) + 1)
    return f"{fence} {safe} {fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def notes_on(answer: SearchAnswer) -> list[str]:
    """Return the notes of an answer, and the names of its query that occur nowhere; not escaped."""
    notes = list(answer.notes)
    if answer.missing:
        nearest = "; what is found is the nearest" if answer.hits else ""
        notes.append(f"nothing that is indexed has {' or '.join(answer.missing)}{nearest}")
    return notes
