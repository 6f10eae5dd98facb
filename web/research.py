"""The best passages for a question as Markdown for an agent or a person, within a budget.

The same text goes to the command line, over HTTP and to the page's button. ``engine.budget`` packs
it: all places first, then code, to each role its share.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from engine.budget import compose
from engine.humanize import count
from engine.research_records import Passage, ResearchAnswer, Role
from engine.search_records import Hit, Mode, SearchAnswer
from web.answers import first_line, notes_on
from web.markdown import closing_markdown, code_of, fenced
from web.terminal import printable
from web.text import coverage_text

#: Budgets that the page offers; the one in the middle is the default on every face.
BUDGETS = (1000, 2000, 4000, 8000, 16_000)
DEFAULT_BUDGET = 4000

#: In a small budget a few passages with their code say more than a list of all.
_TOKENS_OF_ONE = 120
_FEWEST = 4

TITLES = {
    Role.DEFINITION: "Definitions",
    Role.USE: "Uses and examples",
    Role.TEST: "Tests",
    Role.DOCUMENTATION: "Documentation",
}


def research_markdown(found: ResearchAnswer, max_tokens: int = DEFAULT_BUDGET) -> str:
    """Return the passages as Markdown, of at most so many tokens."""
    most = max(_FEWEST, max_tokens // _TOKENS_OF_ONE)
    passages = _in_turn(found.passages)[:most]

    def write(answer: SearchAnswer, *, is_brief: bool) -> str:
        hits = dict(zip(passages, answer.hits, strict=False))
        return _markdown(found, hits, answer, is_brief=is_brief)

    composed = compose(as_search(found, passages), write, max_tokens=max_tokens)
    return write(composed.answer, is_brief=composed.is_brief)


def as_search(answer: ResearchAnswer, passages: Sequence[Passage]) -> SearchAnswer:
    """Return passages as the answer of a search, in this order."""
    return SearchAnswer(
        query=answer.query,
        mode=Mode.HYBRID,
        took_ms=answer.took_ms,
        total=len(passages),
        truncated=False,
        coverage=answer.coverage,
        hits=tuple(each.hit for each in passages),
        errors=answer.errors,
        notes=answer.notes,
        missing=answer.missing,
    )


def research_notes(answer: ResearchAnswer) -> list[str]:
    """Return what to know about an answer, in sentences."""
    return notes_on(as_search(answer, answer.passages))


def project_count(answer: ResearchAnswer) -> int:
    """Return from how many projects there are passages."""
    return len({each.hit.project for each in answer.passages})


def _in_turn(passages: Sequence[Passage]) -> list[Passage]:
    """Return the best passage of each role, then the second ones, …: the order of packing."""
    by_role = [[each for each in passages if each.role is role] for role in Role]
    return [each for row in zip_longest(*by_role) for each in row if each is not None]


def _markdown(
    answer: ResearchAnswer, hits: dict[Passage, Hit], shown: SearchAnswer, *, is_brief: bool
) -> str:
    several = project_count(answer) > 1
    blocks = [f"# {printable(shown.query)}"] if shown.query else []
    for role in Role:
        of_role = [each for each in answer.passages if each.role is role and each in hits]
        if not of_role:
            continue
        blocks.append(f"## {TITLES[role]}")
        if is_brief:
            blocks.append("\n".join(f"- {_place(each.hit, several)}" for each in of_role))
        for passage in of_role:
            if not is_brief or hits[passage].snippet:
                lines = _passage_lines(passage, hits[passage], several, is_brief=is_brief)
                blocks.append("\n".join(lines))
    if not answer.passages:
        what = f" for {code_of(shown.query)}" if shown.query else ""
        blocks.append(f"Nothing found{what}.")
    notes = [] if not shown.query else notes_on(shown)
    errors = [f"{each.project}: {each.message}" for each in shown.errors]
    blocks.append(closing_markdown([*notes, *errors], _totals(answer, len(hits), shown)))
    return "\n\n".join(blocks) + "\n"


def _passage_lines(passage: Passage, hit: Hit, several: bool, *, is_brief: bool) -> Iterator[str]:
    yield f"### {_place(passage.hit, several)}"
    if not is_brief:
        yield f"_{printable('; '.join(passage.reasons))}_"
        if passage.also:
            yield f"Also in {', '.join(map(code_of, passage.also))}"
    if hit.snippet:
        code = hit.snippet.rstrip("\r\n")
        first = first_line(hit)
        last = first + code.count("\n")
        is_part = code.strip() != passage.hit.snippet.strip()
        yield f"\nLines {first}-{last}:\n" if is_part else ""
        yield fenced(code, hit.language)


def _place(hit: Hit, several: bool) -> str:
    path = f"{hit.project}/{hit.path}" if several else hit.path
    place = f"{code_of(path)} L{hit.line_start}-{hit.line_end}"
    return f"{place} {hit.kind or 'in'} {code_of(hit.symbol)}" if hit.symbol else place


def _totals(answer: ResearchAnswer, shown: int, composed: SearchAnswer) -> list[str]:
    files = len({(each.hit.project, each.hit.path) for each in answer.passages})
    totals = [f"{count(len(answer.passages), 'passage')} in {count(files, 'file')}"]
    if shown < len(answer.passages):
        totals.append(f"the first {shown} shown")
    if composed.truncated:
        totals.append("cut to the budget")
    return [*totals, coverage_text(answer.coverage)]
