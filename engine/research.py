"""Research: a question's best passages over files, grouped by what each is for the question.

Searches find them, one each for code, tests and documents, so the engine's ranking decides within
each; the code graph adds the places that use the best definitions. Passages of a file that overlap
or adjoin are one, and so are those with the same text.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from engine.errors import EngineError, InvalidQueryError
from engine.parameters import check_request
from engine.project import Project
from engine.record_class import replaced
from engine.reference_records import Certainty, Reference
from engine.references.telling import VERBS, TellingUses
from engine.research_records import Passage, ResearchAnswer, ResearchRequest, Role
from engine.search.features import is_test
from engine.search.query import FilterTerm, Query, is_of_commits, parse_query
from engine.search.selection import chosen_files
from engine.search_records import Hit, Mode, SearchAnswer, SearchRequest
from engine.source.git import read_branch
from engine.syntax.languages import LANGUAGES, language_named

#: Prose; templates in HTML are code.
_PROSE = tuple(
    name for name, item in LANGUAGES.items() if item.family == "document" and name != "html"
)
#: Texts that people write; other files without a known type are mostly data.
_TEXT_FILE = re.compile(r"(?:\.te?xt|(?:^|/)[^./]+)$", re.IGNORECASE)
#: What changed once says less than what is documented.
_HISTORY = re.compile(r"(?:^|/)(?:change(?:s|log)|history|news|release)[^/]*(?:/|$)", re.IGNORECASE)
_NO_PROSE = " ".join(f"-lang:{name}" for name in _PROSE)
_ONLY_PROSE = " ".join(f"lang:{name}" for name in _PROSE)

#: Kinds that name a part of a file rather than define what code uses.
_NO_DEFINITIONS = frozenset({"section", "property", "field", "target", "selector"})
_MOST = {Role.DEFINITION: 6, Role.USE: 6, Role.TEST: 4, Role.DOCUMENTATION: 4}
_SEARCHED = 40  # hits of each search
_LEAST = 0.1  # confidence of a passage ...
_SHARE = 0.6  # ... and its share of that of the best one of its role, but for the first few
_FIRST = 2
_LEAST_OF_USE = 0.35  # of what has the words, and is no definition: often imports
_BESIDE = 3  # more definitions from the file of the best one ...
_BESIDE_LEAST = 0.5  # ... with this confidence within the file
_ASKED = 3  # definitions whose uses are looked for
_ASKED_LEAST = 0.15  # confidence of such a definition
_MOST_SEARCHED = 100  # files that use a definition, each searched for filters beside the path's
_MOST_OF_ONE = {Role.USE: 3, Role.TEST: 2}  # uses of one definition
_AROUND = 4  # lines above and below a use
_GAP_LINES = 2  # between passages of one symbol that are one
_MOST_LINES = 120  # of joined passages
_WORDS_NAMED = 4

#: Filters that choose files, which hold for uses too.
_FILE_FILTERS = frozenset({"lang", "path", "is", "tag", "author", "imports"})

_CERTAIN = {Certainty.LIKELY: ", likely", Certainty.NAME: ", by its name"}


class _Group(NamedTuple):
    """What a search is for, and the end of its query."""

    filters: str
    languages: frozenset[str] | None = None  # of hits that count; None: all


@dataclass(slots=True)
class _Found:
    """A passage while it is collected."""

    role: Role
    hit: Hit
    reasons: list[str]
    words: list[str]  # of the question, that it has
    also: list[str]
    use_line: int = 0  # that uses a definition, if the code graph found it

    @property
    def place(self) -> tuple[str, str, tuple[str, ...]]:
        """Its file, of one branch if several were searched."""
        return self.hit.project, self.hit.path, self.hit.branches[:1]

    @property
    def confidence(self) -> float:
        """How likely it answers; 0 for what the code graph found."""
        return self.hit.confidence or 0.0


def research(
    request: ResearchRequest,
    search: Callable[[SearchRequest], SearchAnswer],
    open_project: Callable[[str], Project],
) -> ResearchAnswer:
    """Return the best passages for a question; see ``Catalog.research``.

    Args:
        request: The question.
        search: Searches the chosen projects.
        open_project: Opens a project by its root, as it is displayed in hits.
    """
    started = time.perf_counter()
    check_request(request)
    query = _checked(request.query)
    groups = _groups_of(query)
    answers = [_answer_for(group, request, search) for group in groups]
    found: list[_Found] = []
    for group, answer in zip(groups, answers, strict=True):
        found += _passages_of(answer.hits, group)
    best = next((each.hit for each in found if each.role is Role.DEFINITION), None)
    if best is not None:
        with suppress(EngineError):  # the search has told what cannot be read
            found += _beside(request, best, open_project(best.project), groups[0])
    branches = _branches_of(request, query)
    branch = next(iter(branches), None)
    found += _uses_of(found, open_project, query, branches)
    chosen = list(_chosen(_without_copies(_joined(found, open_project, branch))))
    words = [word for each in chosen for word in each.words]
    first = answers[0]
    return ResearchAnswer(
        query=request.query,
        took_ms=(time.perf_counter() - started) * 1000,
        passages=tuple(
            Passage(
                role=each.role,
                hit=each.hit if request.hashes else replaced(each.hit, sha256=None),
                reasons=tuple(each.reasons),
                also=tuple(each.also),
            )
            for each in chosen
        ),
        words=tuple(dict.fromkeys(words)),
        coverage=first.coverage,
        errors=tuple(dict.fromkeys(error for answer in answers for error in answer.errors)),
        notes=tuple(dict.fromkeys(first.notes)),
        missing=first.missing,
    )


def _checked(text: str) -> Query:
    """Parse a question, which needs more than filters.

    Raises:
        InvalidQueryError: It cannot be read, is about commits, or has filters alone.
    """
    if is_of_commits(text):
        kind = parse_query(text, of_commits=True).values("type")[0]
        raise InvalidQueryError(
            "research is about files, not about commits",
            position=max(0, kind.position - len("type:")),
            hint="leave out type:commit; a search with it finds commits",
        )
    query = parse_query(text)
    terms = (*query.words, *query.phrases, *query.mentions)
    if all(term.negated for term in terms):
        raise InvalidQueryError(
            "a question needs words, a name or a phrase", position=len(text), hint="add a word"
        )
    return query


def _branches_of(request: ResearchRequest, query: Query) -> list[str]:
    """Return the branches that a question names, if any, the first one first."""
    named = [request.branch] if request.branch else []
    return named + [term.value for term in query.values("branch") if not term.negated]


def _groups_of(query: Query) -> list[_Group]:
    """Return the searches of a question: code, tests, documents; its own filters hold in each."""
    groups = [_Group(f"-is:test {_NO_PROSE}"), _Group(f"is:test {_NO_PROSE}")]
    named = [term for term in query.values("lang") if not term.negated]
    if not named:
        return [*groups, _Group(f"-is:test {_ONLY_PROSE}")]
    prose = {language_named(term.value) for term in named} & {*_PROSE}
    if prose:
        groups.append(_Group("-is:test", frozenset(filter(None, prose))))
    return groups


def _search_request(request: ResearchRequest, group: _Group) -> SearchRequest:
    """Return a search of which only the passages have details."""
    return SearchRequest(
        query=f"{request.query} {group.filters}",
        mode=Mode.HYBRID,
        branch=request.branch,
        limit=_SEARCHED,
        explain=True,
        choose=lambda hits: [number for number, _ in _sure_enough(hits, group)],
        summaries=True,
        hashes=request.hashes,
    )


def _answer_for(
    group: _Group, request: ResearchRequest, search: Callable[[SearchRequest], SearchAnswer]
) -> SearchAnswer:
    """Search for a group; the passages of the answer have details."""
    asked = _search_request(request, group)
    answer = search(asked)
    if all(answer.hits[number].explain for number, _ in _sure_enough(answer.hits, group)):
        return answer
    return search(replaced(asked, choose=None))  # beside hits of other projects others are sure


def _passages_of(hits: Sequence[Hit], group: _Group) -> Iterator[_Found]:
    """Yield the hits that are sure enough, the surest first."""
    for number, role in _sure_enough(hits, group):
        hit = hits[number]
        yield _Found(role, replaced(hit, explain=None), [_why_found(hit)], _words_in(hit), [])


def _sure_enough(hits: Sequence[Hit], group: _Group) -> Iterator[tuple[int, Role]]:
    """Yield the numbers and roles of these hits, the surest first; without a model of all."""
    numbers = [
        number
        for number, hit in enumerate(hits)
        if group.languages is None or hit.language in group.languages
    ]
    numbers.sort(key=lambda number: -(hits[number].confidence or 0.0))
    of_role: dict[Role, list[float]] = {role: [] for role in Role}
    for number in numbers:
        hit = hits[number]
        if hit.confidence is not None and hit.confidence < _LEAST and number != numbers[0]:
            return  # nor are those that follow
        role = _role_of(hit)
        if role is None:
            continue
        known = of_role[role]
        least = _LEAST_OF_USE if role is Role.USE else _LEAST
        if len(known) >= _FIRST:
            least = max(least, _SHARE * known[0])
        if hit.confidence is None or hit.confidence >= least or number == numbers[0]:
            known.append(hit.confidence or 0.0)
            yield number, role


def _role_of(hit: Hit) -> Role | None:
    """Return what a hit is for; None for text of an unknown type, which is mostly data."""
    if is_test(hit.path) or (hit.language == "rust" and _is_in_test_module(hit.symbol)):
        return Role.TEST
    if hit.language in _PROSE:
        is_data = hit.language == "text" and not _TEXT_FILE.search(hit.path)
        return None if is_data else Role.DOCUMENTATION
    is_example = any(reason.startswith("example") for reason in hit.why)
    is_definition = hit.symbol and hit.kind not in _NO_DEFINITIONS
    return Role.DEFINITION if is_definition and not is_example else Role.USE


def _is_in_test_module(symbol: str | None) -> bool:
    """Return whether a symbol of Rust is in the module of a file's own unit tests."""
    return symbol is not None and symbol.partition(".")[0] in ("test", "tests")


def _beside(
    request: ResearchRequest, best: Hit, project: Project, group: _Group
) -> Iterator[_Found]:
    """Yield more definitions from the file of the best one: the first ones of a search in it."""

    def chosen(hits: Sequence[Hit]) -> list[int]:
        wanted: dict[str | None, int] = {}  # the first one of each symbol
        for number, hit in enumerate(hits):
            if (
                _role_of(hit) is Role.DEFINITION
                and (hit.confidence or 0.0) >= _BESIDE_LEAST
                and hit.symbol != best.symbol
            ):
                wanted.setdefault(hit.symbol, number)
        return list(wanted.values())[:_BESIDE]

    asked = replace(
        _search_request(request, group),
        file=best.path,
        limit=_BESIDE + _SEARCHED,
        choose=chosen,
    )
    hits = project.search(asked).hits
    for hit in [hits[number] for number in chosen(hits)]:
        reason = f"beside the best definition, {_why_found(replaced(hit, confidence=None))}"
        words = _words_in(hit)
        yield _Found(Role.DEFINITION, replaced(hit, explain=None), [reason], words, [])


def _why_found(hit: Hit) -> str:
    """Return why a search found a place: the words that it has, and how sure it is."""
    shown = ", ".join(_words_in(hit)[:_WORDS_NAMED])
    reason = f"contains {shown}" if shown else "is close in meaning"
    return reason if hit.confidence is None else f"{reason} ({round(100 * hit.confidence)}% match)"


def _words_in(hit: Hit) -> list[str]:
    """Return the words of the question that a hit has."""
    return [match.word for match in hit.explain.words if match.columns] if hit.explain else []


def _as_query(filters: Iterable[tuple[str, FilterTerm]]) -> str:
    """Return filters as a query."""
    return " ".join(f"{'-' * term.negated}{name}:{_quoted(term.value)}" for name, term in filters)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _uses_of(
    found: Sequence[_Found],
    open_project: Callable[[str], Project],
    query: Query,
    branches: Sequence[str],
) -> Iterator[_Found]:
    """Yield the places that use the best definitions, as the code graph knows them.

    Args:
        found: The passages so far, with the definitions.
        open_project: As for ``research``.
        query: The question, whose filters their files must pass.
        branches: Those that are searched; the code graph knows only the one checked out.
    """
    definitions = [
        each.hit
        for each in found
        if each.role is Role.DEFINITION
        and (each.hit.confidence is None or each.confidence >= _ASKED_LEAST)
    ]
    seen: set[tuple[str, str | None]] = set()  # files and functions with a use
    passing: dict[str, Callable[[str], bool]] = {}  # by the roots of projects
    for hit in _different(definitions)[:_ASKED]:
        with suppress(EngineError):  # as above
            project = open_project(hit.project)
            if any(branch != read_branch(project.root) for branch in branches):
                continue
            if hit.project not in passing:
                passing[hit.project] = _passing(project, query)
            with project.references.telling(hit.symbol or "") as telling:
                yield from _best_uses(hit, telling, project, passing[hit.project], seen)


def _passing(project: Project, query: Query) -> Callable[[str], bool]:
    """Return a function that tells whether a file passes the filters of a question.

    What the path tells is asked first; the rest takes a search of the file, and after
    ``_MOST_SEARCHED`` of these no other file passes.
    """
    filters = [(name, term) for name, term in query.filters if name in _FILE_FILTERS]
    of_paths = [each for each in filters if each[0] == "path"]
    by_path = chosen_files(replace(query, filters=tuple(of_paths)), "", project.root)
    rest = _as_query(each for each in filters if each not in of_paths)
    left = iter(range(_MOST_SEARCHED))

    @cache
    def passes(path: str) -> bool:
        if by_path is not None and not by_path(path, ""):
            return False
        if not rest:
            return True
        if next(left, None) is None:
            return False
        request = SearchRequest(query=rest, file=path, limit=1, context=False)
        return bool(project.search(request).hits)

    return passes


def _different(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits of different symbols."""
    first: dict[tuple[str, str | None], Hit] = {}
    for hit in hits:
        first.setdefault((hit.project, hit.symbol), hit)
    return list(first.values())


def _best_uses(
    definition: Hit,
    telling: TellingUses,
    project: Project,
    passes: Callable[[str], bool],
    seen: set[tuple[str, str | None]],
) -> Iterator[_Found]:
    """Yield the first uses, of each function around them one, and not those of the definition.

    Args:
        definition: What is used.
        telling: Its uses.
        project: That has them.
        passes: Tells whether a file passes the filters; it may take a search, so it is asked last.
        seen: Files and functions with a use, which is added to.
    """
    left = dict(_MOST_OF_ONE)
    for wanted in _MOST_OF_ONE:
        for each in telling.of(tests=wanted is Role.TEST):
            role = _role_of_use(each)
            is_inside = each.symbol and f"{each.symbol}.".startswith(f"{definition.symbol}.")
            if left[role] and not is_inside and (each.path, each.symbol) not in seen:
                if not passes(each.path):
                    continue
                seen.add((each.path, each.symbol))
                left[role] -= 1
                reason = f"{VERBS[each.use]} {definition.symbol}{_CERTAIN.get(each.certainty, '')}"
                place = _place_of(each, definition.project, project)
                yield _Found(role, place, [reason], [], [], use_line=each.line)
            if not left[wanted]:
                break


def _role_of_use(use: Reference) -> Role:
    is_test_module = use.path.endswith(".rs") and _is_in_test_module(use.symbol)
    return Role.TEST if use.is_test or is_test_module else Role.USE


def _place_of(reference: Reference, root: str, project: Project) -> Hit:
    start = max(1, reference.line - _AROUND)
    language, lines, sha256 = project.browse.lines(reference.path, start, reference.line + _AROUND)
    return Hit(
        project=root,
        path=reference.path,
        line_start=start,
        line_end=start + len(lines) - 1,
        language=language,
        symbol=reference.symbol,
        kind=None,
        signature=None,
        score=0.0,
        why=(),
        fresh=None,
        snippet="\n".join(lines),
        sha256=sha256,
    )


def _joined(
    found: Sequence[_Found], open_project: Callable[[str], Project], branch: str | None
) -> list[_Found]:
    """Join the passages of a file that overlap, or of one role that adjoin."""
    kept: list[_Found] = []
    for each in found:
        joined, at = each, len(kept)
        # Longer after that, it may overlap others.
        while other := next((one for one in kept if _are_one(one, joined)), None):
            place = kept.index(other)
            kept.remove(other)
            into, more = (other, joined) if place < at else (joined, other)
            if into.use_line and not more.use_line:
                into, more = more, into
            _join(into, more, open_project, branch)
            joined, at = into, min(at, place)
        kept.insert(at, joined)
    return kept


def _join(
    into: _Found, other: _Found, open_project: Callable[[str], Project], branch: str | None
) -> None:
    """Add the reasons, words and lines of another passage to one; of a use the reasons alone."""
    if other.use_line:
        into.reasons += [reason for reason in other.reasons if reason not in into.reasons]
        if not into.use_line:
            return
    into.words += other.words
    start = min(into.hit.line_start, other.hit.line_start)
    end = max(into.hit.line_end, other.hit.line_end)
    if (start, end) != (into.hit.line_start, into.hit.line_end):
        with suppress(EngineError):
            project = open_project(into.hit.project)
            into.hit = _extended(into.hit, project, branch, start, end)


def _are_one(one: _Found, other: _Found) -> bool:
    if one.place != other.place:
        return False
    if bool(one.use_line) != bool(other.use_line):  # a use is no part of the text around a line
        use, whole = (one, other) if one.use_line else (other, one)
        return whole.hit.line_start <= use.use_line <= whole.hit.line_end
    gap = max(one.hit.line_start, other.hit.line_start) - min(one.hit.line_end, other.hit.line_end)
    together = max(one.hit.line_end, other.hit.line_end) - min(
        one.hit.line_start, other.hit.line_start
    )
    if gap <= 0:
        return True
    is_same = one.role is other.role and one.hit.symbol == other.hit.symbol
    return is_same and gap <= _GAP_LINES + 1 and together < _MOST_LINES


def _extended(hit: Hit, project: Project, branch: str | None, start: int, end: int) -> Hit:
    branch = hit.branches[0] if hit.branches else branch
    _, lines, sha256 = project.browse.lines(hit.path, start, end, branch_name=branch)
    return replace(
        hit,
        line_start=start,
        line_end=end,
        snippet="\n".join(lines),
        snippet_line=None,
        sha256=sha256,
    )


def _without_copies(found: Sequence[_Found]) -> list[_Found]:
    """Return the passages with different texts; the first of a text names the other places."""
    first: dict[str, _Found] = {}
    for each in found:
        text = "".join(each.hit.snippet.split()) or f"{each.place}:{each.hit.line_start}"
        known = first.setdefault(text, each)
        if known is not each:
            several = known.hit.project != each.hit.project
            path = f"{each.hit.project}/{each.hit.path}" if several else each.hit.path
            known.also.append(f"{path}:{each.hit.line_start}-{each.hit.line_end}")
    return list(first.values())


def _chosen(found: Sequence[_Found]) -> Iterator[_Found]:
    """Yield the best passages of each role."""
    for role in Role:
        of_role = [each for each in found if each.role is role]
        if role is Role.USE:  # what uses the definitions comes before what has the same words
            of_role.sort(key=lambda each: not each.use_line)
        elif role is Role.DOCUMENTATION:
            of_role.sort(key=lambda each: _HISTORY.search(each.hit.path) is not None)
        yield from of_role[: _MOST[role]]
