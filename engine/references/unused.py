"""Definitions that nothing uses: their name stands nowhere in the code of the branch but in them.

Names are compared, not resolved, so a definition that shares its name with one in use is not found,
and what is found is used by nothing in the text. What code outside of the texts calls is left out
and counted: entry points, tests, what has a decorator, what overrides a base of another project.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from engine.cancellation import CancelToken, never
from engine.errors import Cancelled
from engine.reference_records import Certainty, UnusedDefinition, UnusedRequest, Use
from engine.references.imports import module_of
from engine.references.lookup import Lookup
from engine.references.resolve import Resolver, scope_of
from engine.references.sources import Occurrence, Source
from engine.references.subtypes import TYPES, bases_in, name_there
from engine.references.unused_names import UnusedNames, read_unused_names, token_of
from engine.search.features import is_test
from engine.search.query import Query
from engine.search.selection import filters_of
from engine.search_records import SearchRequest
from engine.store import symbols
from engine.store.connection import Handle
from engine.store.filters import BranchSet
from engine.store.project import BranchRow
from engine.store.references import SpanRow
from engine.store.symbols import SymbolRow
from engine.syntax.references import has_references

_ECMASCRIPT = frozenset({"javascript", "typescript", "tsx"})
_CLASSES = frozenset({"class", "interface", "enum", "type"})
_HEADERS = re.compile(r"\.(?:h|hh|hpp|hxx|h\+\+|inl|ipp)$")
_MOST_FOUND = 50_000
_MOST_DEEP = 10  # bases of bases
_KINDS = frozenset(
    {
        "function",
        "method",
        "class",
        "struct",
        "interface",
        "trait",
        "enum",
        "type",
        "macro",
        "constant",
        "variable",
    }
)
_ENTRY_POINTS = frozenset({"main", "Main", "init", "default", "serialVersionUID", "_start"})
_HOOKS = {
    "ruby": frozenset(
        """method_missing respond_to_missing? const_missing included extended inherited prepended
        method_added coerce to_str to_ary to_proc marshal_dump marshal_load""".split()
    )
}
#: Methods by which types of Go implement interfaces of its standard library.
_OF_GO = frozenset(
    """Close Error Flush Format GoString Header Is As Unwrap Len Less Swap Push Pop MarshalBinary
    MarshalJSON MarshalText MarshalYAML Read ReadAt ReadByte ReadFrom Scan Seek ServeHTTP Set String
    UnmarshalBinary UnmarshalJSON UnmarshalText UnmarshalYAML Value Write WriteAt WriteByte
    WriteHeader WriteString WriteTo Hijack RoundTrip""".split()
)
_SETTINGS = re.compile(r"(^|/)(conf|settings)(_\w+)?\.py$")
#: Called by a protocol of the language: dunder methods, and those of enumerations and notebooks.
_PROTOCOL = re.compile(r"__\w+__|_[a-z]\w*_|__\w+")
#: Decorators that register nothing, so that what has them still needs a use.
_PLAIN_DECORATORS = frozenset(
    """property staticmethod classmethod cached_property abstractmethod final dataclass overload
    contextmanager asynccontextmanager lru_cache cache wraps total_ordering singledispatch setter
    deprecated Deprecated SuppressWarnings Nullable NotNull NonNull FunctionalInterface SafeVarargs
    derive inline must_use allow cfg doc non_exhaustive repr cfg_attr expect cold track_caller
    JvmStatic JvmField JvmOverloads Suppress discardableResult inlinable available
    MainActor Sendable tailrec doc typedoc spec type_check_only runtime_checkable unique""".split()
)
_PLAIN_MODULES = frozenset(
    (name,)
    for name in "abc builtins collections enum java kotlin scala typing typing_extensions".split()
)
_DECORATOR = re.compile(rb"\s*(?:@|#!?\[|\[)\s*(?:file:|get:)?((?:\w+(?:\.|::))*)(\w+)")
_PYTHON_DUNDER_ALL = re.compile(rb"^__all__\s*(?::[^=\n]+)?\+?=\s*[\[(]([^\])]*)", re.MULTILINE)
_OVERRIDE = re.compile(rb"\boverride\b|@Override\b|@impl\b")
_IN_EXPRESSION = re.compile(rb"(?:[=(,:?\[&|>]|\breturn)\s*$")
_DECLARED = re.compile(rb"(?:declare\s+)?(?:global\b|module\s*[\"'])")
_IMPL_HEAD = re.compile(rb"^[ \t]*(?:unsafe\s+)?impl\b([^{};]*)\{", re.MULTILINE)
#: Bases of the standard library without methods that a subclass would fill in.
_PLAIN_BASES = frozenset(
    """object ABC Generic Protocol Exception BaseException ValueError KeyError TypeError
    RuntimeError LookupError OSError AttributeError NotImplementedError Enum IntEnum StrEnum Flag
    IntFlag NamedTuple TypedDict Error Object Any AnyRef Serializable Cloneable StandardError
    RuntimeException IllegalArgumentException Struct Equatable Hashable Comparable Sendable
    Identifiable String Int""".split()
)


class FoundUnused(NamedTuple):
    """What was found on a branch."""

    definitions: list[UnusedDefinition]
    left_out: dict[str, int]
    is_cut: bool
    notes: list[str]


def find_unused(
    handle: Handle,
    branch: BranchRow,
    lookup: Lookup,
    wanted: UnusedRequest,
    cancelled: CancelToken = never,
) -> FoundUnused:
    """Return the definitions that nothing uses, the most certain first, exported ones last.

    Args:
        handle: A read transaction.
        branch: The branch.
        lookup: Of the branch.
        wanted: Which.
        cancelled: Polled every few files, and at each definition.

    Raises:
        Cancelled: ``cancelled`` returned true.
        InvalidInputError: The kind or the glob is invalid.
    """
    request = SearchRequest(query="", path=wanted.path, kind=wanted.kind)
    filters = filters_of(handle, Query(text=""), request, BranchSet((branch.id,)))
    unused = read_unused_names(handle, branch.id, cancelled)
    names = sorted({name.lower() for name in unused.names})
    rows = symbols.find_symbols(handle, names, filters, _MOST_FOUND + 1)
    kinds = None if wanted.kind else _KINDS
    kept = [
        row
        for row in rows[:_MOST_FOUND]
        if row.name in unused.names
        and has_references(row.language)
        and (kinds is None or row.kind in kinds)
    ]
    reasons = _Reasons(lookup)
    left_out: Counter[str] = Counter()
    found = []
    ordered = sorted(kept, key=lambda each: (each.path, each.line_start))
    overloads = {(row.path, row.qualified_name): row for row in reversed(ordered)}  # the first one
    for row in reversed(overloads.values()):
        if cancelled():
            raise Cancelled("looking for unused definitions was stopped")
        reason = reasons.of(row)
        if reason is None:
            found.append(_definition(row, unused))
        else:
            left_out[reason] += 1
    found = _without_prototypes(found)
    found.sort(key=lambda each: (each.exported, each.certainty is Certainty.NAME))
    notes = []
    if not unused.is_whole:
        notes.append("not all files could be read in time, and those left may use these")
    return FoundUnused(found, dict(left_out), len(rows) > _MOST_FOUND or not unused.is_whole, notes)


def _without_prototypes(found: list[UnusedDefinition]) -> list[UnusedDefinition]:
    """Leave out what a header declares and another file defines."""
    defined = {each.name for each in found if not _HEADERS.search(each.path)}
    return [each for each in found if not (_HEADERS.search(each.path) and each.name in defined)]


def _definition(row: SymbolRow, unused: UnusedNames) -> UnusedDefinition:
    token = token_of(row.name) or b""
    named_in = unused.named_in.get(token) or _affix_of(token, unused.affixes)
    is_sure = unused.is_whole and named_in is None and not row.is_exported
    return UnusedDefinition(
        name=row.qualified_name,
        kind=row.kind,
        path=row.path,
        line_start=row.line_start,
        line_end=row.line_end,
        signature=row.signature,
        exported=bool(row.is_exported),
        certainty=Certainty.LIKELY if is_sure else Certainty.NAME,
        named_in=named_in,
    )


def _affix_of(token: bytes, affixes: Mapping[bytes, str]) -> str | None:
    """Return where a literal begins or ends a name: ``getattr(self, "visit_" + kind)``."""
    cuts = [at for at in range(1, len(token)) if token[at : at + 1] == b"_"]
    found = (affixes.get(token[: at + 1]) or affixes.get(token[at:]) for at in cuts)
    return next(filter(None, found), None)


class _Reasons:
    """Tells why a definition can be in use though no code names it."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._foreign: dict[tuple[str, str], bool] = {}
        self._listed: dict[str, frozenset[bytes]] = {}

    def of(self, row: SymbolRow) -> str | None:
        """Return the reason to leave a definition out, or None."""
        if reason := _by_place_and_name(row):
            return reason
        source = self._lookup.source(row.path)
        if source is None or not source.is_marked:
            return "not read"
        span = source.span(row.id)
        return self._by_text(row, source, span) if span else "not read"

    def _by_text(self, row: SymbolRow, source: Source, span: SpanRow) -> str | None:
        if _is_decorated(source, span):
            return "decorated"
        if token_of(row.name) in self._names_listed(source):
            return "listed in __all__"
        if row.language == "go" and row.kind == "method" and row.name in _OF_GO:
            return "overrides"
        if source.language == "rust":
            return "overrides" if _is_in_trait_impl(source, span) else None
        if source.language in _ECMASCRIPT and (reason := _of_ecmascript(row, source, span)):
            return reason
        if row.kind in {"method", "function", "property", "field"} and scope_of(row):
            return self._of_member(row, source, span)
        return None

    def _of_member(self, row: SymbolRow, source: Source, span: SpanRow) -> str | None:
        scope = scope_of(row)
        head = source.text[span.byte_start : span.byte_start + 200] + span.signature.encode()
        if _OVERRIDE.search(head):
            return "overrides"
        if row.is_exported and self._is_in_decorated(source, scope):
            return "decorated"
        if source.kinds.get(scope) in TYPES and self._is_foreign(source, scope, 0):
            return "overrides"
        return None

    def _is_in_decorated(self, source: Source, scope: str) -> bool:
        """Return whether the type around a member has a decorator that may look for it."""
        return any(
            span.qualified_name == scope and span.kind in TYPES and _is_decorated(source, span)
            for span in source.spans
        )

    def _is_foreign(self, source: Source, scope: str, depth: int) -> bool:
        """Return whether a type has a base that is not of the project, as far as is known."""
        key = (source.path, scope)
        if key not in self._foreign:
            self._foreign[key] = False  # while its bases are read
            self._foreign[key] = any(
                self._is_base_foreign(source, occurrence, depth)
                for occurrence in _bases_of(source, scope)
            )
        return self._foreign[key]

    def _is_base_foreign(self, source: Source, occurrence: Occurrence, depth: int) -> bool:
        name = name_there(source, occurrence.offset)
        rows = [each for each in self._lookup.definitions(name) if each.kind in TYPES]
        if not rows:
            is_plain = name in _PLAIN_BASES and not _is_imported(source, name)
            return not is_plain
        occurrences = list(source.occurrences(name))
        certainty, targets = Resolver(source, name, rows, occurrences).of(occurrence)
        if depth > _MOST_DEEP or certainty is Certainty.NAME or not targets:
            return True
        for row in targets:
            other = self._lookup.source(row.path)
            if other is None or self._is_foreign(other, row.qualified_name, depth + 1):
                return True
        return False

    def _names_listed(self, source: Source) -> frozenset[bytes]:
        """Return the names in ``__all__`` of a module of Python."""
        if source.language != "python":
            return frozenset()
        if source.path not in self._listed:
            found = _PYTHON_DUNDER_ALL.findall(source.text)
            names = re.findall(rb"[\"'](\w+)[\"']", b" ".join(found))
            self._listed[source.path] = frozenset(names)
        return self._listed[source.path]


def _bases_of(source: Source, scope: str) -> Iterator[Occurrence]:
    """Yield the bases of a type; those of extensions count for all types of a file."""
    for span in source.spans:
        if span.qualified_name == scope and span.kind in TYPES:
            stretch = (
                (0, len(source.text))
                if source.language == "swift"
                else (span.byte_start, span.byte_end)
            )
            for occurrence in bases_in(source, *stretch):
                around = source.enclosing(occurrence.offset)
                if around is None or around.qualified_name == scope:
                    yield occurrence


def _by_place_and_name(row: SymbolRow) -> str | None:
    """Return the reason that the path and the name give, or None."""
    if is_test(row.path):
        return "tests"
    if row.is_generated:
        return "generated"
    if _is_entry_point(row):
        return "entry points"
    if row.kind in {"variable", "constant"} and _SETTINGS.search(row.path):
        return "settings"
    return None


def _is_entry_point(row: SymbolRow) -> bool:
    """Return whether the language or its run-time environment calls what has this name."""
    return (
        row.name in _ENTRY_POINTS
        or row.kind == "constructor"
        or _PROTOCOL.fullmatch(row.name) is not None
        or row.name in _HOOKS.get(row.language, ())
    )


def _is_decorated(source: Source, span: SpanRow) -> bool:
    """Return whether a decorator or an attribute may register a definition."""
    at = span.byte_start
    text = source.text
    for _ in range(20):
        found = _DECORATOR.match(text, at, span.byte_end)
        if found is None:
            return False
        if found[2].decode() not in _PLAIN_DECORATORS and not _OVERRIDE.match(text, found.start()):
            return True
        line_end = text.find(b"\n", found.end())
        if line_end < 0:
            return False
        at = line_end + 1
    return False


def _of_ecmascript(row: SymbolRow, source: Source, span: SpanRow) -> str | None:
    """Tell what is called through the object or the variable that it is given to."""
    scope = scope_of(row)
    if row.kind == "method" and source.kinds.get(scope, "") not in _CLASSES:
        return "members of objects"
    written = re.compile(rb"(?:async\s+)?function[\s*]+%s\b" % re.escape(row.name.encode()))
    function = written.search(source.text, span.byte_start, span.byte_end)
    if function:
        before = source.text[max(0, function.start() - 20) : function.start()]
        if _IN_EXPRESSION.search(before):
            return "function expressions"
    if scope and source.kinds.get(scope) in {"module", "namespace"}:
        outer = next(each for each in source.spans if each.qualified_name == scope)
        if _DECLARED.match(source.text, outer.byte_start):
            return "declared for other modules"
    return None


def _is_imported(source: Source, name: str) -> bool:
    """Return whether a plain base of this name is another one, which the file imports."""
    modules = (
        module_of(source.text, each.offset, source.language, source.path)
        for each in source.occurrences(name)
        if each.use is Use.IMPORT
    )
    return any(module and module.segments[:1] not in _PLAIN_MODULES for module in modules)


def _is_in_trait_impl(source: Source, span: SpanRow) -> bool:
    """Return whether a method of Rust stands in ``impl Trait for Type``."""
    line = source.text.rfind(b"\n", 0, span.byte_start) + 1
    if not source.text[line : line + 1].isspace():
        return False
    head = None
    for found in _IMPL_HEAD.finditer(source.text, 0, span.byte_start):
        head = found
    return head is not None and b" for " in head[1]
