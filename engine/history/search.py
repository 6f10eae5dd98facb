"""Find commits by what they say and change: by words, by meaning, and by filters.

A commit has two shares: its words (BM25 over subject, message, paths and changed lines) and its
meaning, each as a part of the best. Filters hold before anything is cut.
"""

import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from typing import TYPE_CHECKING, Final, NamedTuple

from engine.browse_records import FileContent
from engine.cache import LruCache
from engine.cancellation import CancelToken, never
from engine.clock import iso_time
from engine.embedding.load import QueryEmbedder
from engine.errors import InvalidInputError, InvalidQueryError, NotFoundError, UnavailableError
from engine.history.blame import blame_of
from engine.history.commit_diff import diff_of
from engine.history.dates import field_seconds, seconds_of
from engine.history.former_names import FollowedFile, followed
from engine.history.last_changes import last_changes
from engine.history.line_history import commits_of_lines, lines_named
from engine.history.shown_commits import hit_of, shown_files, why_no_files
from engine.history.versions import StoredHistory
from engine.history_records import (
    Blame,
    CommitHit,
    FileDiff,
    HistoryAnswer,
    HistoryCoverage,
    HistoryRequest,
)
from engine.parameters import check_request
from engine.records import HistoryExtent, LinePlace, display_path, stored_commits
from engine.search.authors import unknown_authors
from engine.search.lexical import Lexical, excluded_match, lexical_of, required_phrases
from engine.search.prepared_query import text_of
from engine.search.query import COMMIT_FILTERS, FilterTerm, Query, parse_query
from engine.search.selection import from_root, path_predicate, whole_path
from engine.search_records import LastCommit
from engine.source.git import read_head, why_no_commit
from engine.store import history
from engine.store.connection import Handle, Store
from engine.store.history import CommitRule
from engine.store.models import ModelRow
from engine.store.vector_rows import QueryVector

if TYPE_CHECKING:
    from engine.history.vectors import CommitVectors  # numpy

MEANING_WEIGHT: Final = 0.8  # of the share of meaning; that of words is 1
_MIN_COSINE: Final = 0.2
_MOST_BY_WORDS: Final = 400
_MOST_BY_MEANING: Final = 200
_FILTERS: Final = (*COMMIT_FILTERS, "author", "path", "project", "context", "case")
_MOST_PLACES: Final = 2  # of lines
_LEAST_DIGITS: Final = 4  # of a commit's name
_MOST_DIGITS: Final = 64
_NAME = re.compile(r"[0-9a-f]{7,64}")
_BLAMES_BYTES: Final = 4 << 20
_STORED_BYTES: Final = 32 << 20  # some 40,000 commits
_VECTORS_BYTES: Final = 32 << 20  # of some 100,000 commits
_RUN_BYTES: Final = 1024  # of memory for lines of the same commit


class _Found(NamedTuple):
    ids: list[int]  # best first
    scores: dict[int, float]
    near: frozenset[int]  # those that are similar in meaning
    total: int


class _Paths(NamedTuple):
    """What filters by path mean."""

    wanted: tuple[int, ...] | None  # ids of the paths that commits must have changed; None: any
    refused: tuple[int, ...]  # and of those that they must not
    followed: tuple[FollowedFile, ...]


class HistorySearch:
    """Answers questions about the commits of a project.

    Args:
        store: The project's database.
        root: Its resolved folder.
        project_name: Its name in answers.
        query_embedder: Embeds questions.
    """

    def __init__(
        self, store: Store, root: str, project_name: str, query_embedder: QueryEmbedder
    ) -> None:
        self._store = store
        self._root = root
        self._project_name = project_name
        self._query_embedder = query_embedder
        self._blames: LruCache[tuple[object, ...], Blame] = LruCache(_BLAMES_BYTES)
        self._stored: LruCache[tuple[int, bytes | None] | None, StoredHistory] = LruCache(
            _STORED_BYTES
        )
        self._vectors: LruCache[tuple[object, ...], CommitVectors] = LruCache(_VECTORS_BYTES)
        #: When the caches were used last, on the monotonic clock; 0 if it never was.
        self.used_s = 0.0

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the cached blames, commits and vectors."""
        return self._blames.size_bytes + self._stored.size_bytes + self._vectors.size_bytes

    def evict(self) -> None:
        """Clear the cache."""
        self._blames.clear()
        self._stored.clear()
        self._vectors.clear()

    def search(self, request: HistoryRequest, *, by_meaning: bool = True) -> HistoryAnswer:
        """Answer a question, best first; without words the newest commits come first.

        Args:
            request: The question.
            by_meaning: Whether similar meanings count, and not words alone.

        Raises:
            InvalidInputError: The question or a filter cannot be read.
        """
        began = time.perf_counter()
        check_request(request)
        query = parse_query(request.query, of_commits=True)
        _check_query(query)
        lexical = lexical_of(query)
        with self._store.read() as handle:
            state = history.read_state(handle)
        vector = self._vector_of(query, state.model if state and by_meaning else None)
        places = _places_of(query, request, self._root)
        path_terms = _path_terms(query, request, self._root)
        touched = [
            commits_of_lines(self._store, self._root, self._stored_commits(), place)
            for place in places
        ]
        with self._store.read() as handle:
            asks_authors = request.author or query.values("author")
            known = history.read_authors(handle) if asks_authors else []
            paths = _paths_of(handle, self._root, path_terms, lambda: self._stored_commits().ranks)
            rule = _rule_of(query, request, known, paths)
            passing = history.read_passing(handle, rule)
            for lines in touched:
                passing = [id_ for id_ in passing if id_ in lines.ids]
            oldest_s = history.read_oldest(handle)
            coverage = self._coverage(handle, oldest_s)
            narrowed = [
                *(note for file in paths.followed for note in file.notes()),
                *(_path_notes(path_terms, rule) if coverage.commits else ()),
                *_author_notes(query, request, known),
                *_reach_notes(rule, oldest_s, coverage),
            ]
            found = _named(handle, query, passing)
            if found is None:
                unknown = _unknown_name(handle, query)
                cosines = self._cosines(handle, vector) if vector and not unknown else {}
                found = _find(handle, query, lexical, passing, cosines)
                if unknown and not found.total:
                    narrowed.append(f"no stored commit begins with {unknown}")
            shown = found.ids[: request.limit]
            rows, files = history.read_commits(handle, shown), history.read_files(handle, shown)
            columns = _columns_of(handle, lexical, shown) if found.scores else {}
        named = {os.fsencode(place.path) for place in places}
        named.update(name for file in paths.followed for name in file.former)
        hits = [
            replace(
                hit_of(
                    rows[id_],
                    shown_files(files[id_], path_terms, named),
                    found.scores.get(id_, 0.0),
                ),
                why=(*columns.get(id_, ()), *(("meaning",) if id_ in found.near else ())),
            )
            for id_ in shown
        ]
        return HistoryAnswer(
            project=self._project_name,
            query=request.query,
            took_ms=(time.perf_counter() - began) * 1000,
            total=found.total,
            truncated=found.total > len(shown),
            coverage=coverage,
            commits=tuple(hits),
            notes=(
                *query.notes,
                *(note for lines in touched for note in lines.notes),
                *narrowed,
                *self._notes(state, coverage),
            ),
        )

    def commit(self, name: str) -> CommitHit:
        """Return a commit with all its files.

        Args:
            name: At least 4 hexadecimal digits of its name, as far as it is the only one.

        Raises:
            NotFoundError: No commit that can be found has this name, or several have.
        """
        digits = name.lower()
        is_name = _LEAST_DIGITS <= len(digits) <= _MOST_DIGITS and not set(digits) - set(
            "0123456789abcdef"
        )
        with self._store.read() as handle:
            ids = history.read_ids_of(handle, digits) if is_name else []
            rows, files = history.read_commits(handle, ids), history.read_files(handle, ids)
        if len(ids) != 1:
            what = "several commits have" if ids else "no commit that can be found has"
            raise NotFoundError(
                f"{what} the name {name}", hint="a search for type:commit lists them", commit=name
            )
        return hit_of(rows[ids[0]], files[ids[0]], 0.0)

    def diff(self, commit: CommitHit, cancelled: CancelToken = never) -> tuple[FileDiff, ...]:
        """Return what a commit changed in each of its listed files, secrets redacted.

        Args:
            commit: The commit, as ``commit`` returns it.
            cancelled: Polled for each file.

        Raises:
            Cancelled: It was cancelled.
        """
        return diff_of(self._store, self._root, self._stored_commits(), commit, cancelled)

    def why_no_files(self, commit: CommitHit) -> str:
        """Say why a commit lists no files; empty: it lists some."""
        return why_no_files(self._stored_commits(), commit)

    def last_change(self, path: str) -> LastCommit | None:
        """Return the last commit that changed a file, of those that were read."""
        return last_changes(self._store, (path,)).get(path)

    def blame(self, path: str, content: FileContent) -> Blame:
        """Return the commit that changed each line of a file last.

        To follow a file of a long history takes a second; the answers are kept.

        Args:
            path: The file, as it is spelled on disk, from the root.
            content: Its text as it was indexed.
        """
        key = self._key_of_blame(path, content)
        found = self._blames.get(key)
        if found is None:
            found = blame_of(self._store, self._root, self._stored_commits(), path, content)
            size = _RUN_BYTES * (1 + len(found.runs)) + len(content.text)
            self._blames.put(key, found, size)
        return found

    def kept_blame(self, path: str, content: FileContent) -> Blame | None:
        """Return what ``blame`` does if the answer is kept, else None at once."""
        return self._blames.get(self._key_of_blame(path, content))

    def _key_of_blame(self, path: str, content: FileContent) -> tuple[object, ...]:
        self.used_s = time.monotonic()
        with self._store.read() as handle:
            version = history.read_version(handle)
        return path, content.path, content.text, version

    def _cosines(self, handle: Handle, vector: QueryVector) -> dict[int, float]:
        """Return the cosine of each commit that the question's model embedded."""
        from engine.history.vectors import CommitVectors  # numpy

        self.used_s = time.monotonic()
        model = vector.model
        versions = (history.read_version(handle), history.read_vectors_version(handle))
        key = (model.identity, *versions)
        found = self._vectors.get(key)
        if found is None:
            self._vectors.clear()
            found = CommitVectors(handle, model.identity, model.dimension)
            self._vectors.put(key, found, found.size_bytes)
        return found.cosines(vector)

    def _stored_commits(self) -> StoredHistory:
        """Return the places of all stored commits; to read and order 40,000 takes 0.2 s."""
        self.used_s = time.monotonic()
        with self._store.read() as handle:
            version = history.read_version(handle)
        found = self._stored.get(version)
        if found is None:
            self._stored.clear()
            found = StoredHistory.read(self._store)
            self._stored.put(version, found, found.size_bytes)
        return found

    def _vector_of(self, query: Query, identity: str | None) -> QueryVector | None:
        text = text_of(query)
        if identity is None or not text:
            return None
        try:
            vector = self._query_embedder.embed(text, identity)
        except UnavailableError:
            return None
        return QueryVector.of(ModelRow(0, identity, "", len(vector)), vector)

    def _coverage(self, handle: Handle, oldest_s: int | None) -> HistoryCoverage:
        state = history.read_state(handle)
        return HistoryCoverage(
            commits=history.count_commits(handle),
            extent=history.read_extent(handle),
            complete=state is not None and state.is_complete,
            since=None if oldest_s is None else iso_time(oldest_s * 1000),
        )

    def _notes(self, state: history.HistoryState | None, coverage: HistoryCoverage) -> list[str]:
        """Say what an answer may lack."""
        head = read_head(self._root).commit
        if state is None:
            if coverage.commits:
                return ["only the newest commits are read so far; a job reads the rest"]
            if head is None:
                return [f"no commit can be found: {why_no_commit(self._root)}"]
            return ["the history is not read yet; a job reads it after cairn index"]
        notes = [state.note] if state.note else []
        if head is not None and (state.head is None or state.head.hex() != head):
            notes.append(
                "newer commits are not read yet; a job reads them after the next cairn index"
            )
        return notes


def _check_query(query: Query) -> None:
    for name, term in query.filters:
        if name not in _FILTERS:
            raise InvalidQueryError(
                f"the filter {name}: is about code, not about commits",
                position=max(0, term.position - len(name) - 1),
                hint="filters of commits: author: after: before: path: lines:",
            )
        if name == "type" and (term.negated or term.value not in ("commit", "commits")):
            raise InvalidQueryError(
                f"type is {term.value!r}, expected commit", position=term.position
            )
    if query.patterns:
        raise InvalidQueryError(
            "commits are found by words, not by patterns",
            position=query.patterns[0].position,
            hint='write words or a "phrase"',
        )


def _places_of(query: Query, request: HistoryRequest, root: str) -> list[LinePlace]:
    """Return the lines that commits must have touched."""
    for term in query.values("lines"):
        if term.negated:
            raise InvalidQueryError("lines: cannot be negated", position=term.position)
    texts = [term.value for term in query.values("lines")]
    if request.lines:
        texts.append(request.lines)
    if len(texts) > _MOST_PLACES:
        raise InvalidInputError("lines can be given twice at most", field="lines")
    return [lines_named(text, root) for text in texts]


def _rule_of(
    query: Query, request: HistoryRequest, known: Sequence[str], paths: _Paths
) -> CommitRule:
    """Return which commits pass the filters.

    Args:
        query: The filters in the question.
        request: Those that are options.
        known: All authors, where the filters ask about some.
        paths: What the filters by path mean.
    """
    after = [seconds_of(term.value, term.position) for term in query.values("after")]
    before = [seconds_of(term.value, term.position) for term in query.values("before")]
    for field, times in (("after", after), ("before", before)):
        value = getattr(request, field)
        if value:
            times.append(field_seconds(field, value))
    for name in ("after", "before"):
        for term in query.values(name):
            if term.negated:
                raise InvalidQueryError(f"{name}: cannot be negated", position=term.position)
    authors, not_authors = _authors_of(known, query.values("author"), request.author)
    return CommitRule(
        after_s=max(after, default=None),
        before_s=min(before, default=None),
        authors=authors,
        not_authors=not_authors,
        path_ids=paths.wanted,
        followed=tuple({id_ for file in paths.followed for id_ in file.ids}),
        not_path_ids=paths.refused,
    )


def _authors_of(
    known: Sequence[str], terms: Sequence[FilterTerm], also: str | None
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the authors of whom commits must be, and must not, without regard to case."""
    if not terms and not also:
        return None, ()
    folded_of = {author: author.casefold() for author in known}
    parts = [term.value.casefold() for term in terms if not term.negated] or [""]
    refused = [term.value.casefold() for term in terms if term.negated]
    also = (also or "").casefold()
    wanted = (
        author
        for author, folded in folded_of.items()
        if also in folded and any(part in folded for part in parts)
    )
    return tuple(wanted), tuple(
        author for author, folded in folded_of.items() if any(part in folded for part in refused)
    )


def _path_notes(terms: Sequence[FilterTerm], rule: CommitRule) -> list[str]:
    """Say that no commit changed a file of the only path that is wanted."""
    wanted = [term.value for term in terms if not term.negated]
    if len(wanted) != 1 or rule.path_ids != () or rule.followed:
        return []
    path = display_path(wanted[0])
    return [f"no stored commit changed {'a file below ' if path.endswith('/') else ''}{path}"]


def _author_notes(query: Query, request: HistoryRequest, known: Sequence[str]) -> list[str]:
    """Say which wanted authors have no stored commit."""
    asked = [term.value for term in query.values("author") if not term.negated]
    asked += [request.author] if request.author else []
    return unknown_authors(asked, known)


def _reach_notes(rule: CommitRule, oldest_s: int | None, coverage: HistoryCoverage) -> list[str]:
    """Say that there are older commits than those stored, and why all of these are too new."""
    if oldest_s is None:
        return []
    if rule.before_s is None or rule.before_s > oldest_s:
        if coverage.extent is not HistoryExtent.NEWEST or not coverage.complete:
            return []  # other notes say what is missing
        stored = stored_commits(coverage.commits, coverage.extent)
        return [f"found among the {stored}; the setting history_commits says how many are read"]
    day = iso_time(oldest_s * 1000)[:10]
    if not coverage.complete:  # other notes say why
        return [f"the commits that were read begin on {day}"]
    if coverage.extent is HistoryExtent.ALL:
        return [f"the first commit is of {day}"]
    return [
        f"the commits that were read begin on {day}: the settings history_commits and"
        " history_days say how far back they go"
    ]


def _path_terms(query: Query, request: HistoryRequest, root: str) -> Sequence[FilterTerm]:
    """Return the filters by path, absolute ones from the root."""
    own = (FilterTerm(request.path, -1, False),) if request.path else ()
    terms = (*query.values("path"), *own)
    return [term._replace(value=from_root(root, term.value)) for term in terms]


def _paths_of(
    handle: Handle, root: str, terms: Sequence[FilterTerm], ranks: Callable[[], Mapping[int, int]]
) -> _Paths:
    """Return what filters by path mean; a file that is named in full is followed back."""
    if not terms:
        return _Paths(None, (), ())
    rows = {id_: os.fsdecode(path) for id_, path in history.read_paths(handle)}
    stored = frozenset(rows.values())
    wanted: set[int] | None = None
    refused: set[int] = set()
    for term in terms:
        passes = path_predicate(term.value, position=None if term.position < 0 else term.position)
        ids = {id_ for id_, path in rows.items() if passes(path, "")}
        name = whole_path(term.value)
        if name in stored or os.path.isfile(f"{root}/{name}"):  # a.js does not mean a.json
            ids = {id_ for id_ in ids if not rows[id_].startswith(name) or _has(rows[id_], name)}
        if term.negated:
            refused |= ids
        else:
            wanted = ids if wanted is None else wanted & ids
    named = {whole_path(term.value) for term in terms if not term.negated}
    files = sorted(rows[id_] for id_ in wanted or () if rows[id_] in named)
    return _Paths(
        None if wanted is None else tuple(wanted),
        tuple(refused),
        tuple(followed(handle, os.fsencode(path), ranks) for path in files),
    )


def _has(path: str, name: str) -> bool:
    """Return whether a file has a name, or is in a folder that has it."""
    return f"/{name}/" in f"/{path}/"


def _named(handle: Handle, query: Query, passing: list[int]) -> _Found | None:
    """Return the commit that passes whose name, or the beginning of it, is all that is asked."""
    digits = _name_in(query)
    ids = history.read_ids_of(handle, digits) if digits else []
    ids = [id_ for id_ in ids if id_ in passing]
    return _Found(ids, {}, frozenset(), len(ids)) if ids else None


def _unknown_name(handle: Handle, query: Query) -> str:
    """Return what can be a commit's name and is that of none; empty if there is no such word."""
    digits = _name_in(query)
    return "" if not digits or history.read_ids_of(handle, digits) else digits


def _name_in(query: Query) -> str:
    """Return the only word of a question if it can be a commit's name; empty if it is none."""
    if len(query.words) != 1 or query.words[0].negated or query.phrases:
        return ""
    digits = query.words[0].text.lower()
    return digits if _NAME.fullmatch(digits) else ""


def _find(
    handle: Handle,
    query: Query,
    lexical: Lexical,
    passing: list[int],
    cosines: Mapping[int, float],
) -> _Found:
    """Rank the commits that pass; without words the newest come first."""
    if excluded := excluded_match(query, with_phrases=True):
        left_out = frozenset(history.read_matching(handle, excluded))
        passing = [id_ for id_ in passing if id_ not in left_out]
    if not lexical.alternatives:
        return _Found(passing, {}, frozenset(), len(passing))
    allowed = set(passing)
    if required_phrases(query):
        allowed.intersection_update(history.read_matching(handle, lexical.chunk_match))
        cosines = {}
    totals: dict[int, float] = defaultdict(float)
    for word in lexical.alternatives:
        for id_, score in history.read_word_scores(handle, word):
            if id_ in allowed:
                totals[id_] += score
    near = {id_: value for id_, value in cosines.items() if id_ in allowed and value >= _MIN_COSINE}
    candidates = {
        *nlargest(_MOST_BY_WORDS, totals, key=totals.__getitem__),
        *nlargest(_MOST_BY_MEANING, near, key=near.__getitem__),
    }
    best_words = max(totals.values(), default=0.0) or 1.0
    best_cosine = max(near.values(), default=0.0) or 1.0
    scores = {
        id_: totals.get(id_, 0.0) / best_words
        + MEANING_WEIGHT * max(cosines.get(id_, 0.0), 0.0) / best_cosine
        for id_ in candidates
    }
    newest = {id_: place for place, id_ in enumerate(passing)}
    ids = sorted(scores, key=lambda id_: (-scores[id_], newest[id_]))
    return _Found(ids, scores, frozenset(near), len(totals.keys() | near.keys()))


def _columns_of(handle: Handle, lexical: Lexical, ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the columns in which commits have words of the question."""
    found: dict[int, tuple[str, ...]] = {}
    if lexical.path_words:
        match = " OR ".join(lexical.path_words)
        for column in history.COLUMNS:
            for id_ in history.read_matching_among(handle, f"{column} : ({match})", ids):
                found[id_] = (*found.get(id_, ()), column)
    return found
