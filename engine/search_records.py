"""The frozen records of searches: requests, hits and answers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from engine.parameters import Parameter
from engine.record_class import record
from engine.records import MIN_TOKENS, NOT_IN_JSON, WHEN_ANY, Coverage

MAX_QUERY_CHARS = 4096  # of any search


MAX_HITS = 100  # of a search; no more are ranked for pages either


MAX_NAME_CHARS = 1000  # of a symbol's name that is looked for


MAX_SYMBOLS = 1000  # of an answer


#: A note on an answer from a branch whose files were never all read.
UNFINISHED = "the last indexing run did not finish or is still running; cairn index completes it"


class Mode(StrEnum):
    """The mode of a search."""

    HYBRID = "hybrid"
    MEANING = "meaning"
    KEYWORD = "keyword"
    SYMBOL = "symbol"
    REGEX = "regex"


_MAX_HITS_ASKED = Parameter("maximum number of hits", minimum=1, maximum=MAX_HITS)


_CONTEXT_ASKED = Parameter("whether to include snippets")


@record
class SearchRequest:
    """A search request. Filters of the fields are ANDed with those written in the query."""

    query: Annotated[
        str,
        Parameter(
            'in the query language: words, "phrases", /patterns/ and filters, e.g.'
            " `lang:go path:src/ -path:tests`",
            max_length=MAX_QUERY_CHARS,
            example="where is the session refreshed",
        ),
    ]
    mode: Annotated[Mode, Parameter("how to search", example="hybrid")] = Mode.HYBRID
    language: Annotated[str | None, Parameter("only files in this language")] = None
    path: Annotated[
        str | None,
        Parameter("only paths with this prefix, or matching this glob", brief="prefix or glob"),
    ] = None
    file: str | None = None  # this one alone, from the root, as the disk spells it
    kind: Annotated[
        str | None,
        Parameter(
            "only symbols of this kind: function, class, type, …",
            brief="function, class, type, …",
        ),
    ] = None
    branch: Annotated[
        str | None,
        Parameter(
            "this branch as last indexed, or all that match a glob (default: the one checked out)",
        ),
    ] = None
    tests: Annotated[bool, Parameter("false leaves out tests, as `-is:test` does")] = True
    vendored: Annotated[
        bool, Parameter("false leaves out code from elsewhere, as `-is:vendored` does")
    ] = True
    generated: Annotated[
        bool, Parameter("false leaves out files that tools wrote, as `-is:generated` does")
    ] = True
    limit: Annotated[int, _MAX_HITS_ASKED] = 10
    #: Bound on all that is sent, counted by ``tokens_of``; see ``engine.budget``.
    max_tokens: Annotated[
        int | None,
        Parameter(
            "budget for the whole answer: one token per 3.5 bytes",
            minimum=MIN_TOKENS,
        ),
    ] = None
    context: Annotated[bool, _CONTEXT_ASKED] = True
    explain: Annotated[bool, Parameter("show how each hit's score was calculated")] = False
    #: Only so many hits have snippets, summaries, freshness, their file's last change and
    #: explanations; None: all of them.
    detailed: int | None = None
    #: Returns the numbers of the hits that have them, given all hits without; None: the first.
    choose: Callable[[Sequence["Hit"]], Collection[int]] | None = None
    summaries: bool = False  # hits have them
    hashes: bool = False  # hits have those of their files

    @property
    def has_filters(self) -> bool:
        """Whether a field narrows the search within its branch; then it needs no words."""
        return any((self.language, self.path, self.file, self.kind))

    @property
    def has_exclusions(self) -> bool:
        """Whether a field leaves out files; without words and filters there is nothing to list."""
        return not (self.tests and self.vendored and self.generated)


@record
class RelatedRequest:
    """A search for code similar to a place."""

    path: Annotated[
        str,
        Parameter(
            "an indexed file, relative to the root or absolute",
            brief="file, relative or absolute",
        ),
    ]
    line_start: Annotated[int, Parameter("first line, counted from 1", name="line", minimum=1)]
    line_end: Annotated[int | None, Parameter("last line; by default the first", minimum=1)] = None
    limit: Annotated[int, _MAX_HITS_ASKED] = 5
    context: Annotated[bool, _CONTEXT_ASKED] = True
    hashes: bool = False  # hits have those of their files


#: How a name is compared; each way includes the ones before it.
SymbolMatch = Literal["exact", "prefix", "fuzzy"]


@record
class SymbolRequest:
    """A name whose definitions are looked for."""

    name: Annotated[
        str,
        Parameter(
            "a name, or Class.method", brief="Name or Class.method", max_length=MAX_NAME_CHARS
        ),
    ]
    kind: Annotated[str | None, Parameter("only this kind: function, method, class, type, …")] = (
        None
    )
    match: Annotated[
        SymbolMatch,
        Parameter("exact: same case first; fuzzy: parts of names, and typos"),
    ] = "exact"
    limit: Annotated[
        int, Parameter("maximum number of symbols", minimum=1, maximum=MAX_SYMBOLS)
    ] = 20


@record
class WordMatch:
    """A word of the query, or the words of one name in a row, and where a hit has it."""

    word: str
    columns: Annotated[tuple[str, ...], "of name, signature, body: those that have it"]
    chunks: Annotated[int, "of the whole index that have it: the fewer, the more it counts"]


@record
class Explanation:
    """The terms of a score: the sum of the shares times the product of the factors."""

    score: float
    #: words, meaning, file, path, file_meaning, definition; name in mode symbol
    shares: dict[str, float]
    factors: Annotated[dict[str, float], "what lowers it: test, example, generated, document, …"]
    bm25: Annotated[float, "0 when the words did not bring it in"]
    keyword_rank: Annotated[int | None, "by BM25 among all that were ranked, 1 is best"]
    words: tuple[WordMatch, ...]
    meaning: Annotated[float | None, "cosine of query and place, unless by words alone"] = None
    file_meaning: Annotated[float | None, "cosine of query and path"] = None
    meaning_rank: Annotated[int | None, "by cosine among all that were ranked, 1 is best"] = None


@record
class MatchSpan:
    """A part of a line that a pattern matches; a match over several lines is one of each."""

    line: int
    start: Annotated[int, "number of characters (code points) before it in the line"]
    end: Annotated[int, "exclusive; equal to start for a match without characters, such as ^"]


@record
class LastCommit:
    """The last commit that changed a file, or lines of it; of those that were read."""

    commit: Annotated[str, "its name, in hexadecimal"]
    date: Annotated[str, "when it was committed"]
    author: str
    subject: Annotated[str, "first paragraph of its message"]


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Hit:
    """A place that answers the query."""

    project: Annotated[str, "the root"]
    path: str
    line_start: int
    line_end: int
    language: str
    symbol: Annotated[str | None, "qualified name"]
    kind: str | None
    signature: str | None
    score: Annotated[float, "higher is better, within one answer"]
    why: Annotated[tuple[str, ...], "what made it match, and what moved it"]
    fresh: Annotated[bool | None, "false: the file has changed since; null: unknown"]
    snippet: str
    branches: Annotated[
        tuple[str, ...],
        WHEN_ANY,
        "of the searched ones, if they are several, those that have it; first the one of path",
    ] = ()
    matches: Annotated[tuple[MatchSpan, ...], WHEN_ANY, "of patterns, in text order"] = ()
    snippet_line: Annotated[int | None, WHEN_ANY, "counted from 1; unless it is line_start"] = None
    confidence: Annotated[
        float | None, WHEN_ANY, "estimated probability that it answers; unless it is found by rule"
    ] = None
    summary: Annotated[
        str | None, WHEN_ANY, "first line of the symbol's documentation, or that matches a pattern"
    ] = None
    tags: Annotated[tuple[str, ...], WHEN_ANY, "that rules of config.toml give its file"] = ()
    explain: Annotated[Explanation | None, WHEN_ANY] = None  # if requested
    last_change: Annotated[LastCommit | None, WHEN_ANY] = None  # of the file
    sha256: Annotated[str | None, NOT_IN_JSON] = None  # of the file when it was read; on pages


@record
class ProjectError:
    """A project that could not answer while the others did."""

    project: str
    error: str
    message: str


@record
class SearchAnswer:
    """A ranked answer; ``cairn search --json`` prints exactly these keys."""

    query: str
    mode: Mode
    took_ms: float
    total: Annotated[int, "candidates that were ranked; more may match when truncated"]
    truncated: Annotated[bool, "whether more hits are likely, or snippets were cut to the budget"]
    coverage: Coverage
    hits: tuple[Hit, ...]
    errors: Annotated[tuple[ProjectError, ...], WHEN_ANY] = ()
    notes: Annotated[tuple[str, ...], WHEN_ANY, "what to know about the answer, in sentences"] = ()
    more_files: Annotated[
        tuple[str, ...], WHEN_ANY, "that may answer too, best first; only within a budget"
    ] = ()
    missing: Annotated[
        tuple[str, ...], WHEN_ANY, "names in the query that occur in no indexed text or path"
    ] = ()


@record
class SymbolHit:
    """A symbol that matches a name."""

    project: str
    path: str
    name: str
    qualified_name: str
    kind: str
    signature: str
    doc: str
    language: str
    line_start: int
    line_end: int
    exported: bool
    score: float
