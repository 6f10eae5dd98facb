"""Choose what may answer by filters: files, languages and kinds; ``branches`` has the branches."""

import os
from collections.abc import Callable, Sequence

from engine.did_you_mean import unknown
from engine.errors import InvalidInputError, InvalidQueryError
from engine.search.features import is_test, is_vendored
from engine.search.lexical import qualified_form
from engine.search.query import FilterTerm, Query
from engine.search.query_pieces import BY_USE, PROPERTIES
from engine.search_records import SearchRequest
from engine.store import project
from engine.store.connection import Handle
from engine.store.filters import (
    BranchSet,
    Filters,
    IdRule,
    PathRule,
    build_filters,
    register_path_filter,
)
from engine.syntax.languages import DIALECTS, KINDS, LANGUAGES, kinds_of, language_named

_PATH_FUNCTION = "path_passes"
_WILDCARDS = frozenset("*?[")
_SCOPE_FILTERS = frozenset(
    {"branch", "project", "context"}
)  # filters that choose no rows within a branch
#: Tags that all files have.
FILE_TAGS = frozenset({"indexed", "repository"})

#: Returns whether a file passes, by its path and its language.
FilePredicate = Callable[[str, str], bool]


def filters_of(
    handle: Handle,
    query: Query,
    request: SearchRequest,
    branches: BranchSet,
    ids: Sequence[IdRule] = (),
    has_tag: Callable[[str], FilePredicate] | None = None,
) -> Filters:
    """Return the conditions of a query and a request; both must hold.

    Args:
        handle: A read transaction.
        query: The query.
        request: The request it is part of.
        branches: The branches.
        ids: The rules of the filters by use and by author, see ``usage`` and ``authors``, and of
            several branches.
        has_tag: Returns which files have a tag; default: extensions and languages.

    Raises:
        InvalidQueryError: An unknown language or kind, or a bad path glob, with its position.
        InvalidInputError: The same in a field of the request.
    """
    languages = _sets(query.values("lang"), languages_named)
    kinds = _sets(query.values("kind"), kinds_named)
    if request.language:
        languages[0].append(_read_field("language", request.language, languages_named))
    if request.kind:
        kinds[0].append(_read_field("kind", request.kind, kinds_named))
    predicates = [
        _negated_if(path_predicate(_from_root(handle, term.value), position=term.position), term)
        for term in query.values("path")
    ]
    if request.path:
        predicates.append(path_predicate(_from_root(handle, request.path), position=None))
    of_tag = has_tag or tag_predicate
    predicates += [_negated_if(of_tag(term.value), term) for term in query.values("tag")]
    properties = _properties(query, request)
    predicates += [
        _negated_if(_OF_PATHS[each.value], each) for each in properties if each.value in _OF_PATHS
    ]
    generated = frozenset(not each.negated for each in properties if each.value == "generated")
    path_function = terms = None
    has_others = len(predicates) > sum(each.value in _OF_PATHS for each in properties)
    of_paths = frozenset((e.value, not e.negated) for e in properties if e.value in _OF_PATHS)
    if predicates:
        if not query.values("tag"):  # rules on tags may change while the index does not
            asked = [*query.values("path"), FilterTerm(request.path or "", 0, False)]
            named = [*(("path", term) for term in asked), *(("is", term) for term in properties)]
            terms = tuple((name, term.value, term.negated) for name, term in named)
        path_function = _PATH_FUNCTION
        register_path_filter(handle, path_function, _all_of(predicates))
    return build_filters(
        branches=branches,
        paths=PathRule(
            path_function,
            request.file,
            generated=generated,
            terms=terms,
            properties=None if has_others else of_paths,
        ),
        languages=(_common(languages[0]), frozenset().union(*languages[1])),
        kinds=(_common(kinds[0]), frozenset().union(*kinds[1])),
        symbol_names=_names(query),
        ids=ids,
    )


def _properties(query: Query, request: SearchRequest) -> list[FilterTerm]:
    """Return the properties that files must have or, negated, must not have."""
    fields = (request.tests, request.vendored, request.generated)
    refused = [
        FilterTerm(name, 0, True)
        for name, is_wanted in zip(PROPERTIES, fields, strict=True)
        if not is_wanted
    ]
    return [*(term._replace(value=term.value.lower()) for term in query.values("is")), *refused]


def is_unfiltered(query: Query, request: SearchRequest) -> bool:
    """Return whether a query consists of words, and nothing but the branch is chosen."""
    chosen = {name for name, _ in query.filters}
    return (
        chosen <= _SCOPE_FILTERS
        and has_plain_words(query)
        and not (request.has_filters or request.has_exclusions)
    )


def has_plain_words(query: Query) -> bool:
    """Return whether a query has no phrases, patterns and excluded words."""
    return not (query.phrases or query.patterns) and not any(word.negated for word in query.words)


def has_use_filters(query: Query) -> bool:
    """Return whether a query has a filter by use, see ``usage``."""
    return any(name in BY_USE for name, _ in query.filters)


def _from_root(handle: Handle, pattern: str) -> str:
    """Return an absolute path below the root relative to it; any other path as it is."""
    row = project.read_project(handle) if pattern.startswith("/") else None
    return from_root(os.fsdecode(row.root), pattern) if row else pattern


def from_root(root: str, pattern: str) -> str:
    """Return an absolute path below a root from there, with a slash before; others as they are."""
    is_below = root != "/" and f"{pattern}/".startswith(f"{root}/")
    return pattern[len(root) :] if is_below else pattern


def path_passes(handle: Handle, path: str | None) -> FilePredicate | None:
    """Return the predicate of a path or a glob that is asked for, if any.

    Raises:
        InvalidInputError: The glob is invalid.
    """
    return path_predicate(_from_root(handle, path), position=None) if path else None


def whole_path(pattern: str) -> str:
    """Return the file that a path filter means if it names one in full, from the root."""
    return "" if pattern == "." else pattern.removeprefix("./").lstrip("/")


def path_predicate(pattern: str, *, position: int | None) -> FilePredicate:
    """Return the predicate of a path filter.

    A pattern with wildcards is a glob; otherwise it is the start of the path, a folder anywhere
    in it, or a file's whole name. One that begins with a slash is matched from the root alone.

    Raises:
        InvalidQueryError: The glob is invalid, and ``position`` is given.
        InvalidInputError: The glob is invalid.
    """
    wanted = whole_path(pattern)
    inside = f"/{wanted.strip('/')}/"
    is_anchored = pattern.startswith("/")

    def begins(path: str, _language: str) -> bool:
        return path.startswith(wanted)

    def begins_or_is_inside(path: str, _language: str) -> bool:
        return path.startswith(wanted) or inside in f"/{path}/"

    named = begins if is_anchored else begins_or_is_inside
    if _WILDCARDS.isdisjoint(wanted):
        return named
    try:
        from engine.source.ignore import Globs  # most queries have no path filter

        globs = Globs.compile((f"/{wanted}" if is_anchored else wanted,), field="path")
    except InvalidInputError as error:
        if position is None:
            raise
        raise InvalidQueryError(str(error), position=position, hint=error.hint) from error
    # Real names have brackets too: pages/[id].tsx.
    return lambda path, language: globs.match(path, False) is not None or named(path, language)


def tag_predicate(tag: str) -> FilePredicate:
    """Match a tag of a file: ``indexed``, ``repository``, its extension or its language."""
    if tag in FILE_TAGS:
        return lambda _path, _language: True
    if tag.startswith("."):
        return lambda path, _language: path.endswith(tag)
    return lambda path, language: path.endswith(f".{tag}") or language == tag.lower()


def chosen_files(query: Query, without: str, root: str) -> FilePredicate | None:
    """Return which files the filters by path, language, tag and property let pass; None: all.

    Args:
        query: The query; its other filters, also tags of rules, are not counted.
        without: The name of a filter whose values are not counted either.
        root: Of the project, for absolute paths.

    Raises:
        InvalidQueryError: An unknown language, or a bad path glob, with its position.
    """
    terms = [(name, term) for name, term in query.filters if name != without]
    wanted, excluded = _sets(tuple(term for name, term in terms if name == "lang"), languages_named)
    predicates = [
        _negated_if(path_predicate(from_root(root, term.value), position=term.position), term)
        for name, term in terms
        if name == "path"
    ]
    predicates += [_negated_if(tag_predicate(term.value), term) for n, term in terms if n == "tag"]
    properties = [term._replace(value=term.value.lower()) for name, term in terms if name == "is"]
    predicates += [
        _negated_if(_OF_PATHS[each.value], each) for each in properties if each.value in _OF_PATHS
    ]
    if wanted or excluded:
        members, others = _common(wanted), frozenset[str]().union(*excluded)
        predicates.append(
            lambda _path, language: (not members or language in members) and language not in others
        )
    return _all_of(predicates) if predicates else None


def chosen_kinds(query: Query, without: str) -> Callable[[str], bool] | None:
    """Return which kinds of symbols a query lets pass, as ``chosen_files`` does; None: all."""
    terms = () if without == "kind" else query.values("kind")
    wanted, excluded = _sets(terms, kinds_named)
    members, others = _common(wanted), frozenset[str]().union(*excluded)
    if not terms:
        return None
    return lambda kind: (not members or kind in members) and kind not in others


#: The properties of files that their paths tell.
_OF_PATHS: dict[str, FilePredicate] = {
    "test": lambda path, _language: is_test(path),
    "vendored": lambda path, _language: is_vendored(path),
}


def _negated_if(predicate: FilePredicate, term: FilterTerm) -> FilePredicate:
    if term.negated:
        return lambda path, language: not predicate(path, language)
    return predicate


def _all_of(predicates: list[FilePredicate]) -> FilePredicate:
    if len(predicates) == 1:
        return predicates[0]
    return lambda path, language: all(predicate(path, language) for predicate in predicates)


def _sets(
    terms: tuple[FilterTerm, ...], read: Callable[[str], frozenset[str]]
) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """Read the values of a filter: the wanted ones, any of which may match, and the excluded."""
    wanted: set[str] = set()
    excluded: list[frozenset[str]] = []
    for term in terms:
        try:
            members = read(term.value)
        except InvalidInputError as error:
            raise InvalidQueryError(
                error.message, position=term.position, hint=error.hint
            ) from error
        if term.negated:
            excluded.append(members)
        else:
            wanted |= members
    return ([frozenset(wanted)] if wanted else [], excluded)


def _read_field(field: str, value: str, read: Callable[[str], frozenset[str]]) -> frozenset[str]:
    try:
        return read(value)
    except InvalidInputError as error:
        raise InvalidInputError(error.message, hint=error.hint, field=field) from error


def _common(sets: list[frozenset[str]]) -> frozenset[str]:
    """Return what all sets have in common; a name that no row has when they are disjoint."""
    if not sets:
        return frozenset()
    return frozenset.intersection(*sets) or frozenset({""})


def languages_named(value: str) -> frozenset[str]:
    """Return the names of the language with a name, an alias or an extension: its dialects.

    Raises:
        InvalidInputError: There is none.
    """
    name = language_named(value)
    if name is None:
        raise unknown("language", value, LANGUAGES)
    return DIALECTS.get(name, frozenset({name}))


def kinds_named(value: str) -> frozenset[str]:
    """Return the kinds that a name covers.

    Raises:
        InvalidInputError: There is no such kind or group of kinds.
    """
    members = kinds_of(value)
    if members is None:
        raise unknown("kind", value, KINDS)
    return members


def _names(query: Query) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of symbols that are wanted and refused, as typed and joined by dots."""
    wanted: set[str] = set()
    refused: set[str] = set()
    for term in query.values("sym"):
        names = refused if term.negated else wanted
        names |= {term.value.lower(), qualified_form(term.value).lower()}
    return frozenset(wanted), frozenset(refused)
