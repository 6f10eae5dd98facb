"""Search answers as text for terminals and agents, and as Markdown for prompts.

All places come first, one line each, then the code of the best. ``engine.budget`` decides
how much of it there is room for; ``compact_json`` writes the same as JSON. Text from a repository
(paths, names, code, messages about them) passes ``printable`` before it is shown, so that a file
cannot send control sequences to the terminal.
"""

import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar, TypeVarTuple

from engine.budget import stands_out
from engine.humanize import count, duration
from engine.search_records import (
    MAX_HITS,
    Explanation,
    Hit,
    LastCommit,
    MatchSpan,
    Mode,
    SearchAnswer,
    SearchRequest,
)
from web.markdown import code_of, fenced
from web.terminal import Style, printable, printable_block, shortened
from web.text import coverage_text, share_text, size_of

_BY_USE = re.compile(r"(?<!\S)(?:calls|uses|extends|imports):(?!:|//)[^\s\"]+")
_MAX_TRIED = 3
ONLY_LIKELY = "unlikely ones left out"
_DOUBTFUL = 0.15  # confidence in the best hit
_ABOUT_COLUMNS = 80  # of what a place says of itself

More = TypeVarTuple("More")
Value = TypeVar("Value")


def once_per_hit(
    function: Callable[[Hit, *More], Value],
) -> Callable[[Hit, *More], Value]:
    """Return a function that keeps what it returned for a hit for as long as the hit exists.

    An answer is written again and again until it fits its budget, mostly with the same hits. They
    are compared by identity, and further arguments are positional and hashable. What is returned is
    not to be changed.
    """
    known: dict[object, tuple[weakref.ref[Hit], Value]] = {}

    def kept(hit: Hit, /, *more: *More) -> Value:
        key = (id(hit), more)
        found = known.get(key)
        if found is None:
            forgetting = weakref.ref(hit, lambda _: known.pop(key, None))
            found = known[key] = forgetting, function(hit, *more)
        return found[1]

    return kept


def search_text(
    answer: SearchAnswer, request: SearchRequest, style: Style, *, is_brief: bool = False
) -> str:
    """Return a search answer as text: places, code, notes, then a line of totals.

    Args:
        answer: The answer.
        request: The search, for suggestions if nothing was found.
        style: Colours or none.
        is_brief: Whether places are all that there is room for.
    """
    nothing = _nothing_found(answer, request, is_brief=is_brief)
    more = how_to_see_more(answer, request.limit, has_budget=request.max_tokens is not None)
    return _answer_text(answer, style, nothing=nothing, more=more, is_brief=is_brief)


def related_text(answer: SearchAnswer, style: Style, limit: int, *, is_brief: bool = False) -> str:
    """Return similar code as text, in the form of a search answer.

    Args:
        answer: The answer.
        style: Colours or none.
        limit: The most hits that were asked for.
        is_brief: As for ``search_text``.
    """
    nothing = f"nothing similar to {printable(answer.query)}"
    told = replace(answer, hits=tuple([_with_why(hit) for hit in answer.hits]))
    more = how_to_see_more(answer, limit, has_budget=False, has_query=False)
    return _answer_text(told, style, nothing=nothing, more=more, is_brief=is_brief)


def how_to_see_more(
    answer: SearchAnswer, limit: int, *, has_budget: bool, has_query: bool = True
) -> str:
    """Return what shows more than an answer does, and nothing that does not help.

    Args:
        answer: The answer, as far as it is shown.
        limit: The most hits that were asked for.
        has_budget: Whether a budget was asked for.
        has_query: Whether a query was asked, which could be narrower.
    """
    is_cut = len(answer.hits) < limit  # by the budget, or as not all that matches was ranked
    if is_cut and has_budget:
        return "raise --max-tokens"
    if limit < MAX_HITS and not is_cut:
        return "raise --limit"
    if not has_query:
        return ""
    if is_cut:
        return "narrow the query"
    return f"narrow the query, as {MAX_HITS} is the most"


def _with_why(hit: Hit) -> Hit:
    return replace(hit, summary=", ".join(hit.why))


def _answer_text(
    answer: SearchAnswer, style: Style, *, nothing: str, more: str, is_brief: bool
) -> str:
    blocks = [*hit_blocks(answer, style, is_brief=is_brief)] or [nothing]
    notes = [style.warning(f"note: {printable(note)}") for note in notes_on(answer)]
    totals = style.dim(totals_line(answer, more, is_brief=is_brief))
    blocks.append("\n".join([*notes, totals]))
    return "\n\n".join(blocks) + "\n"


def hit_blocks(
    answer: SearchAnswer, style: Style, *, is_brief: bool = False, numbered: bool = True
) -> Iterator[str]:
    """Yield the blocks of hits: places, further files, then the code of each file that has some.

    Args:
        answer: The answer.
        style: Colours or none.
        is_brief: Whether places say only where they are.
        numbered: Whether lines of code have their numbers, or their places have.
    """
    hits = answer.hits
    if not hits:
        return
    several = len({hit.project for hit in hits}) > 1
    yield "\n".join([_place_text(hit, style, several, is_brief) for hit in hits])
    if answer.more_files:
        yield also_block(answer.more_files, style)
    with_code = [hit for hit in hits if hit.snippet]
    files = {file_of(hit): number for number, hit in reversed([*enumerate(with_code)])}
    with_code.sort(key=lambda hit: (files[file_of(hit)], first_line(hit)))
    for _, passages in groupby(with_code, key=file_of):
        of_file = list(passages)
        if numbered:
            place = style.place(_path_of(of_file[0], several))
            place += "".join(style.dim(f" [{printable(each)}]") for each in of_file[0].branches[:1])
            heading = [] if len(hits) == 1 else [place]
            yield "\n".join([*heading, *_numbered(of_file, style)])
        else:
            yield "\n".join([_headed(hit, several) for hit in of_file])


def also_block(paths: Sequence[str], style: Style) -> str:
    """Return the block of further files."""
    return "\n".join([style.dim("also:"), *map(printable, paths)])


def size_of_hits(hits: Sequence[Hit], *, is_brief: bool) -> int:
    """Return the size of the blocks of ``hit_blocks`` that change with the code of hits.

    It is that without colours and numbers, with the empty line behind each block of code. Each hit
    is written once for all answers that it is in.
    """
    several = len({hit.project for hit in hits}) > 1
    with_code = [hit for hit in hits if hit.snippet]
    lines = len(hits) - 1 + len(with_code) + len({file_of(hit) for hit in with_code})  # ends
    places = sum(_place_size(hit, several, is_brief) for hit in hits)
    return lines + places + sum(_headed_size(hit, several) for hit in with_code)


@once_per_hit
def _place_size(hit: Hit, several: bool, is_brief: bool) -> int:
    return size_of(_place_text(hit, Style(), several, is_brief))


@once_per_hit
def _headed_size(hit: Hit, several: bool) -> int:
    return size_of(_headed(hit, several))


class MeasuredByHits:
    """Measures an answer by the sizes of its hits and of the rest, which is written once.

    Args:
        rest: Returns the size of all but the hits of an answer that has some.
        hits: Returns that of some hits.
    """

    def __init__(
        self,
        rest: Callable[[SearchAnswer, bool], int],
        hits: Callable[[Sequence[Hit], bool], int],
    ) -> None:
        self._rest, self._hits = rest, hits
        self._known: dict[tuple[int, int, bool], tuple[SearchAnswer, int]] = {}

    def __call__(self, answer: SearchAnswer, hits: Sequence[Hit], *, is_brief: bool) -> int:
        """See ``engine.budget.Measure``."""
        key = id(answer), len(hits), is_brief
        known = self._known.get(key)
        if known is None:  # the answer is kept, so that no other one gets its id
            size = self._rest(replace(answer, hits=tuple(hits)), is_brief)
            known = self._known[key] = answer, size
        return known[1] + self._hits(hits, is_brief)


@once_per_hit
def _place_text(hit: Hit, style: Style, several: bool, is_brief: bool) -> str:
    return "\n".join(_place_lines(hit, style, several, is_brief=is_brief))


def _place_lines(hit: Hit, style: Style, several: bool, *, is_brief: bool) -> Iterator[str]:
    """Yield where a hit is, and what it is: one line, and the terms of its score if requested."""
    line = style.place(f"{_path_of(hit, several)}:{_lines_of(hit.line_start, hit.line_end)}")
    if hit.confidence is not None and not is_brief:
        line += f" {round(100 * hit.confidence)}%"
    about = "" if is_brief else shortened(printable(about_hit(hit)), _ABOUT_COLUMNS)
    if hit.symbol and not (about and about == hit.signature and hit.symbol in about):
        kind = "" if is_brief else f"{hit.kind or ''} "
        line += f" {kind}{style.bold(printable(hit.symbol))}" + (":" if about else "")
    line += style.dim(f" {about}") if about else ""
    line += _branches_of(hit, style)
    if hit.fresh is False:
        line += style.warning(" (changed since it was indexed)")
    yield line
    if hit.explain and not is_brief:
        yield from (style.dim(f"  {each}") for each in explanation_lines(hit.explain))
        if hit.last_change:
            yield style.dim(f"  {printable(last_change_text(hit.last_change))}")


def last_change_text(change: LastCommit) -> str:
    """Return when a file was changed last, by whom and why, in a line."""
    told = f"file last changed {change.date[:10]} by {change.author}"
    return f"{told} ({change.commit[:10]}): {change.subject}"


def _branches_of(hit: Hit, style: Style) -> str:
    """Return the branches on which a hit stands, if several were searched."""
    return style.dim(f" [{printable(', '.join(hit.branches))}]") if hit.branches else ""


def file_of(hit: Hit) -> tuple[str, str, tuple[str, ...]]:
    """Return what the lines of a hit are lines of: project, path, and the branch if it is told."""
    return hit.project, hit.path, hit.branches[:1]


def about_hit(hit: Hit) -> str:
    """Return what a place says of itself: its summary, or its signature unless its code has it."""
    signature = hit.signature or ""
    if hit.summary:
        return "" if hit.matches and hit.summary in hit.snippet else hit.summary
    return "" if signature.split("(")[0] in hit.snippet else signature


def _path_of(hit: Hit, several: bool) -> str:
    return printable(f"{hit.project}/{hit.path}" if several else hit.path)


def _lines_of(start: int, end: int) -> str:
    return f"{start}-{end}" if end > start else str(start)


def first_line(hit: Hit) -> int:
    """Return the line at which the code of a hit begins."""
    return hit.snippet_line or hit.line_start


def _code_lines(hit: Hit) -> list[str]:
    return hit.snippet.rstrip("\r\n").split("\n")


@once_per_hit
def _headed(hit: Hit, several: bool) -> str:
    """Return the code of a hit exactly, below its place."""
    code, first = _code_lines(hit), first_line(hit)
    place = f"{_path_of(hit, several)}:{_lines_of(first, first + len(code) - 1)}"
    return "\n".join([place, printable_block("\n".join(code))])


def _numbered(hits: Sequence[Hit], style: Style) -> Iterator[str]:
    """Yield the numbered lines of a file; matches are coloured, and their lines have a >."""
    width = max(len(str(first_line(hit) + len(_code_lines(hit)) - 1)) for hit in hits)
    at = 0  # the next line of the file
    for hit in hits:
        matches: dict[int, list[MatchSpan]] = {}
        for match in hit.matches:
            matches.setdefault(match.line, []).append(match)
        if 0 < at < first_line(hit):
            yield style.dim("…".rjust(width))
        for number, line in enumerate(_code_lines(hit), first_line(hit)):
            sign = ">" if number in matches else "|"
            text = _highlighted(line.removesuffix("\r"), matches.get(number, ()), style)
            yield f"{style.dim(f'{number:>{width}} {sign}')} {text}".rstrip()
            at = number + 1


def _highlighted(line: str, matches: Sequence[MatchSpan], style: Style) -> str:
    pieces = []
    at = 0
    for match in matches:
        if at <= match.start < match.end <= len(line):
            pieces += [printable_block(line[at : match.start])]
            pieces += [style.match(printable_block(line[match.start : match.end]))]
            at = match.end
    return "".join([*pieces, printable_block(line[at:])])


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


def has_commits(answer: SearchAnswer) -> bool:
    """Return whether the hits of an answer are commits, of which notes say what is missing."""
    if "type:commit" not in answer.query:  # nearly always
        return False
    from engine.cross_project import is_about_commits

    return is_about_commits(answer.query)


def noun_of(answer: SearchAnswer) -> str:
    """Return what the hits of an answer are counted as."""
    return "commit" if has_commits(answer) else "hit"


def has_only_likely(answer: SearchAnswer) -> bool:
    """Return whether all that an answer leaves out is unlikely."""
    return not answer.truncated and stands_out(answer) and len(answer.hits) < answer.total


def totals_line(answer: SearchAnswer, more: str = "", *, is_brief: bool = False) -> str:
    """Summarize an answer in one line: number of hits, time, and coverage if it is of files.

    Args:
        answer: The answer.
        more: What to do to see more, if there is more.
        is_brief: Whether places are all that there is room for.
    """
    of_commits = has_commits(answer)
    found = f"{count(len(answer.hits), noun_of(answer))} of {answer.total:,}"
    if answer.truncated and not of_commits:  # all commits that match are counted
        found += " or more"
    if is_brief and (answer.coverage.complete or of_commits):
        return f"{found}, cut to the budget"
    parts = [found, duration(answer.took_ms)]
    if not of_commits:
        covered = share_text if answer.notes else coverage_text
        parts.append(covered(answer.coverage))
    if answer.truncated:
        parts.append(f"truncated; {more}" if more else "truncated")
    elif has_only_likely(answer):
        parts.append(ONLY_LIKELY)
    return ", ".join(parts)


def _nothing_found(answer: SearchAnswer, request: SearchRequest, *, is_brief: bool) -> str:
    if is_brief:
        return "no room for a place: raise --max-tokens" if answer.total else "nothing found"
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
    if has_commits(answer):
        return f"{asked}\n  try: other or fewer words or filters; cairn log lists all commits"
    lines = [f"{asked}, in {count(answer.coverage.files, 'file')}"]
    if filters:
        lines.append("  try: without " + printable(" ".join(filters)))
    by_use = _BY_USE.findall(request.query)
    if by_use:
        lines.append("  try: without " + printable(" or ".join(by_use[:_MAX_TRIED])))
        lines.append(f"  try: cairn refs {printable(by_use[0].partition(':')[2])}")
    elif answer.mode in (Mode.HYBRID, Mode.MEANING, Mode.KEYWORD):
        lines.append("  try: other or fewer words, or parts of a name (user id for getUserById)")
    elif answer.mode is Mode.REGEX:
        case = "case:no, and " if any(map(str.isupper, answer.query)) else ""
        lines.append(f"  try: {case}\\ before ( [ {{ . * + ? | $ ^ to match them literally")
    else:
        lines.append("  try: the same query without --mode")
    lines.append("  try: cairn why FILE, if you know which file should match")
    return "\n".join(lines)


def search_markdown(answer: SearchAnswer, totals: str = "", *, is_brief: bool = False) -> str:
    """Return a search answer as Markdown for a prompt.

    A fence is longer than any run of backticks in the code it holds, so that code cannot end it.

    Args:
        answer: The answer.
        totals: The last line; by default the same as in a terminal.
        is_brief: Whether places are all that there is room for; then they are a list.
    """
    several = len({hit.project for hit in answer.hits}) > 1
    blocks = ["## Relevant Code from Index"]
    if is_brief and answer.hits:
        blocks.append("\n".join(f"- {_place_markdown(hit, several)}" for hit in answer.hits))
    for number, hit in enumerate(answer.hits, 1):
        if hit.snippet or not is_brief:
            blocks.append(_hit_markdown(hit, number, several))
    if not answer.hits:
        blocks.append(_nothing_markdown(answer, is_brief=is_brief))
    if answer.more_files:
        blocks.append("\n".join(["Also:", *(f"- {code_of(path)}" for path in answer.more_files)]))
    blocks += [f"**Note**: {printable(note)}" for note in notes_on(answer)]
    blocks.append(f"_{totals or totals_line(answer, is_brief=is_brief)}_")
    return "\n\n".join(blocks) + "\n"


def _nothing_markdown(answer: SearchAnswer, *, is_brief: bool) -> str:
    if is_brief:
        return "No room for a place." if answer.total else "Nothing found."
    return f"Nothing found for {code_of(answer.query)}."


def _name_of(hit: Hit) -> str:
    if hit.kind == "commit":
        return printable(hit.summary or "")
    return f"{hit.kind or 'symbol'} {code_of(hit.symbol)}" if hit.symbol else code_of(hit.path)


def _place_markdown(hit: Hit, several: bool) -> str:
    path = f"{hit.project}/{hit.path}" if several else hit.path
    place = f"{code_of(path)} L{_lines_of(hit.line_start, hit.line_end)}"
    place = f"{place} {code_of(hit.symbol)}" if hit.symbol else place
    return f"{place} on {_branches_markdown(hit)}" if hit.branches else place


def _branches_markdown(hit: Hit) -> str:
    return ", ".join(map(code_of, hit.branches))


@once_per_hit
def _hit_markdown(hit: Hit, number: int, several: bool) -> str:
    path = f"{hit.project}/{hit.path}" if several else hit.path
    match = "" if hit.confidence is None else f" ({round(100 * hit.confidence)}% match)"
    lines = [
        f"### {number}. {_name_of(hit)}{match}",
        f"**File**: {code_of(path)} L{hit.line_start}-{hit.line_end}",
    ]
    if hit.branches:
        lines.append(f"**On**: {_branches_markdown(hit)}")
    if hit.signature:
        lines.append(f"**Signature**: {code_of(hit.signature)}")
    if hit.fresh is False:
        lines.append("**Stale**: the file has changed since it was indexed")
    if hit.snippet:
        lines += ["", fenced(hit.snippet, hit.language)]
    return "\n".join(lines)


def notes_on(answer: SearchAnswer) -> list[str]:
    """Return the notes of an answer, its doubts, and names that occur nowhere; not escaped."""
    notes = list(answer.notes)
    confidence = max((hit.confidence or 0.0 for hit in answer.hits), default=None)
    if confidence is not None and confidence < _DOUBTFUL and answer.hits[0].confidence is not None:
        notes.append("nothing matches well; these are the nearest places")
    if answer.missing:
        nearest = "; what is found is the nearest" if answer.hits else ""
        notes.append(f"nothing that is indexed has {' or '.join(answer.missing)}{nearest}")
    return notes
