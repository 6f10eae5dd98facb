"""Compare definitions and references with those of language servers.

    python tests/benchmark/references.py python:REPO… [--identifiers 3000] [--definitions 100]
        [--misses 5] [--home HOME]

Each argument is a language and a checkout, which is indexed unless HOME has it. What the servers
need is told in ``language_servers.py``; a language whose server is missing is skipped.

Definitions: identifiers are drawn (with a fixed seed) from the files that the index holds, among
those that are the name of some symbol. One counts if the server resolves it to a symbol that the
index has, and is not where a symbol has its name. It is right if the first definition that the
engine returns is that symbol; overloads, and definitions of a file between which conditions decide,
are the same, and so are in C and C++ the declaration and the definition. Names of namespaces and
what stands behind the sign of a comment are left out. An
identifier that the server resolves to something else (a local variable, another project) does not
count, unless the engine claims ``exact`` or ``likely`` for it: these are wrong claims.

References: of drawn symbols, the uses that the engine says mean this symbol (``exact`` and
``likely``) are compared with the server's, and so are those with the uses that may mean it by name.
Of a use that the server does not list it is asked what stands there: one that it resolves to the
symbol counts as listed, and one that it does not resolve at all (the body of a macro, a branch of
the preprocessor that it does not read) is counted apart.
Places where the name is renamed by an import are left out on both sides.
"""

import argparse
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError
from engine.project import Project
from engine.reference_records import Certainty, ReferenceRequest, Use
from engine.search_records import SymbolHit
from tests.benchmark.language_servers import (
    SERVERS,
    LanguageServer,
    Place,
    is_installed,
    language_server,
)

_SEED = 18
_WORD = re.compile(r"[^\W\d]\w*")
_WORD_WITH_DOLLAR = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
_HAS_DOLLAR = frozenset({"typescript", "php"})
_MOST_USES = 1000
_HAS_DECLARATIONS = frozenset({"c", "cpp"})

_COMMENT = {"python": re.compile(r"#")}
_OTHER_COMMENT = re.compile(r"//|/\*|^\s*\*")
_HEADERS = (".h", ".hh", ".hpp", ".hxx")
_MOST_SAME = 10  # overloads whose references are asked for
_NAMESPACES = frozenset({"namespace", "module", "package"})

Key = tuple[str, str]  # path and qualified name of a symbol


@dataclass(slots=True)
class Tally:
    """The counts of one repository."""

    resolved: int = 0  # by the server, to a symbol that the index has
    first: int = 0  # of them the first definition is right
    among: int = 0  # of them one of the definitions is right
    said: Counter[str] = field(default_factory=Counter)  # by certainty
    right: Counter[str] = field(default_factory=Counter)
    wrong_claims: Counter[str] = field(default_factory=Counter)
    definitions: int = 0
    uses: int = 0  # of the server
    sure: int = 0  # of the engine, exact and likely
    sure_right: int = 0
    exact: int = 0
    exact_right: int = 0
    named_right: int = 0  # with those by name
    unread: int = 0  # of the engine, where the server finds nothing
    misses: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


class Checkout:
    """An indexed repository with the texts and symbols of a language."""

    def __init__(self, project: Project, root: Path, language: str, without: str | None) -> None:
        self.project = project
        self.root = root
        self.language = language
        self._word = _WORD_WITH_DOLLAR if language in _HAS_DOLLAR else _WORD
        self.lines: dict[str, list[str]] = {}
        self.symbols: dict[tuple[str, str], list[SymbolHit]] = {}
        self.named: dict[str, list[SymbolHit]] = defaultdict(list)
        for path in sorted(root.rglob("*")):
            relative = path.relative_to(root).as_posix()
            is_left_out = without is not None and re.search(without, relative)
            if path.is_file() and path.suffix in SERVERS[language].endings and not is_left_out:
                self._read(relative)

    def _read(self, path: str) -> None:
        try:
            symbols = self.project.outline(path)
        except EngineError:
            return  # not indexed
        text = (self.root / path).read_text("utf-8", "replace")
        self.lines[path] = text.split("\n")
        for symbol in symbols:
            self.symbols.setdefault((path, symbol.name), []).append(symbol)
            self.named[symbol.name].append(symbol)

    def symbol_at(self, place: Place, name: str) -> Key | None:
        """Return the innermost symbol of a name at a place."""
        around = [
            each
            for each in self.symbols.get((place.path, name), [])
            if each.line_start <= place.line <= each.line_end
        ]
        if not around:
            return None
        return _key(min(around, key=lambda each: each.line_end - each.line_start))

    def is_definition(self, place: Place, name: str) -> bool:
        """Return whether a symbol has its name at a place."""
        here = self.symbols.get((place.path, name), [])
        return any(self.place_of(each) == place for each in here)

    def prototypes(self, keys: set[Key]) -> set[Key]:
        """Return the functions of headers that have the qualified names of some functions."""
        names = {qualified for _, qualified in keys}
        return {
            _key(each)
            for name in {qualified.rpartition(".")[2] for qualified in names}
            for each in self.named.get(name, [])
            if each.qualified_name in names
            and each.path.endswith(_HEADERS)
            and "(" in each.signature
        }

    def text_at(self, place: Place) -> str:
        """Return the name at a place; empty if none begins there."""
        lines = self.lines.get(place.path, [])
        if place.line > len(lines):
            return ""
        found = self._word.match(lines[place.line - 1], place.column - 1)
        return found[0] if found else ""

    def identifiers(self, count: int) -> list[tuple[Place, str]]:
        """Return identifiers drawn among those that are the name of a symbol, by place."""
        names = {
            name
            for (_, name), symbols in self.symbols.items()
            if any(each.kind not in _NAMESPACES for each in symbols)
        }
        comment = _COMMENT.get(self.language, _OTHER_COMMENT)
        found = [
            (Place(path, number, match.start() + 1), match[0])
            for path, lines in self.lines.items()
            for number, line in enumerate(lines, 1)
            for match in self._word.finditer(line)
            if match[0] in names and not comment.search(line[: match.start()])
        ]
        return sorted(random.Random(_SEED).sample(found, min(count, len(found))))

    def definitions(self, count: int) -> list[tuple[Place, SymbolHit]]:
        """Return the places of drawn symbols."""
        every = [
            each
            for symbols in self.symbols.values()
            for each in symbols
            if each.kind not in _NAMESPACES
        ]
        random.Random(_SEED).shuffle(every)
        placed = ((self.place_of(each), each) for each in every)
        known = [(place, each) for place, each in placed if place is not None]
        return sorted(known[:count], key=lambda pair: pair[0])

    def place_of(self, symbol: SymbolHit) -> Place | None:
        pattern = re.compile(rf"(?<![\w.@$]){re.escape(symbol.name)}(?![\w$])")
        lines = self.lines[symbol.path]
        for number in range(symbol.line_start, min(symbol.line_end, len(lines)) + 1):
            if found := pattern.search(lines[number - 1]):
                return Place(symbol.path, number, found.start() + 1)
        return None

    def places_of(self, symbol: SymbolHit) -> list[Place]:
        """Return where a symbol has its name; a struct can have it again behind its body."""
        first = self.place_of(symbol)
        last = self.lines[symbol.path][min(symbol.line_end, len(self.lines[symbol.path])) - 1]
        found = re.match(rf"\}}\s*({re.escape(symbol.name)})\s*;", last)
        again = Place(symbol.path, symbol.line_end, found.start(1) + 1) if found else None
        return [each for each in (first, again) if each]

    def is_import(self, place: Place) -> bool:
        """Return whether a place stands in an import: a server has not found what it names."""
        start = max(0, place.line - 40)
        lines = self.lines.get(place.path, [])[start : place.line]
        text = "\n".join([*lines[:-1], lines[-1][: place.column]]) if lines else ""
        return re.search(r"\bimport\b[^;()=]*$", text) is not None


def main() -> None:
    """Compare each repository and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", nargs="+", metavar="LANGUAGE:REPO")
    parser.add_argument("--identifiers", type=int, default=3000, help="drawn in each")
    parser.add_argument("--definitions", type=int, default=100, help="drawn in each")
    parser.add_argument("--without", help="leave out paths that match this pattern")
    parser.add_argument("--misses", type=int, default=0, help="examples of each cause")
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder")
    arguments = parser.parse_args()
    home = arguments.home or Path(tempfile.mkdtemp(prefix="cairn-bench-"))
    tallies: list[tuple[str, str, Tally]] = []
    with Catalog(load_config(home)) as catalog:
        for each in arguments.repositories:
            language, _, folder = each.partition(":")
            if not is_installed(language):
                print(f"{SERVERS[language].command[0]} is missing: {folder} is skipped")
                continue
            root = Path(folder).resolve()
            project = catalog.create(str(root))
            project.index()
            checkout = Checkout(project, root, language, arguments.without)
            with language_server(language, root) as server:
                tally = _compare(checkout, server, arguments)
            tallies.append((language, root.name, tally))
            _print_misses(tally, arguments.misses)
    _print_tables(tallies)


def _compare(checkout: Checkout, server: LanguageServer, arguments: argparse.Namespace) -> Tally:
    tally = Tally()
    drawn = checkout.definitions(arguments.definitions)
    if checkout.lines:
        first = next(iter(checkout.lines))
        server.open(first)
        server.rest()
        server.close(first)
    for path, places in _by_path(checkout.identifiers(arguments.identifiers)):
        server.open(path)
        for place, name in places:
            _compare_definition(checkout, server, tally, place, name)
        server.close(path)
    server.rest()
    for place, symbol in drawn:
        server.open(place.path)
        _compare_references(checkout, server, tally, place, symbol)
        server.close(place.path)
    return tally


def _by_path(
    identifiers: list[tuple[Place, str]],
) -> Iterator[tuple[str, list[tuple[Place, str]]]]:
    groups: dict[str, list[tuple[Place, str]]] = {}
    for place, name in identifiers:
        groups.setdefault(place.path, []).append((place, name))
    yield from groups.items()


def _compare_definition(
    checkout: Checkout, server: LanguageServer, tally: Tally, place: Place, name: str
) -> None:
    places = server.definitions(place)
    if not places or place in places or all(map(checkout.is_import, places)):
        return
    if checkout.language in _HAS_DECLARATIONS:
        declared = server.declarations(place)
        if place in declared:
            return
        places = [*places, *declared]
    if checkout.is_definition(place, name):
        return
    keys = {key for each in places if (key := checkout.symbol_at(each, name))}
    if checkout.language in _HAS_DECLARATIONS:
        keys |= checkout.prototypes(keys)
    found = checkout.project.references.definitions_at(place.path, place.line, place.column)
    certainty = found[0].certainty.value if found else "none"
    ours = [_key(each.symbol) for each in found]
    line = checkout.lines[place.path][place.line - 1]
    if not keys:
        if certainty in {"exact", "likely"}:
            tally.wrong_claims[certainty] += 1
            where = f"{places[0].path}:{places[0].line}"
            _note(tally, f"wrong claim, {certainty}", place, line, f"{ours[:1]} is {where}")
        return
    tally.resolved += 1
    tally.said[certainty] += 1
    tally.among += any(key in keys for key in ours)
    if ours and ours[0] in keys:
        tally.first += 1
        tally.right[certainty] += 1
        return
    kind = "among" if any(key in keys for key in ours) else "not among"
    before = line[: place.column - 1].rstrip()
    way = "member" if before.endswith((".", "->", "::")) else "bare"
    _note(tally, f"definition, {certainty}, {way}, {kind}", place, line, f"{ours[:1]} is {keys}")


def _compare_references(
    checkout: Checkout, server: LanguageServer, tally: Tally, place: Place, symbol: SymbolHit
) -> None:
    same = {_key(symbol)}
    if checkout.language in _HAS_DECLARATIONS:
        for each in [*server.definitions(place), *server.declarations(place)]:
            if key := checkout.symbol_at(each, symbol.name):
                same.add(key)
    alike = [
        each
        for path, _ in same
        for each in checkout.symbols.get((path, symbol.name), [])
        if _key(each) in same
    ]
    if len(alike) > _MOST_SAME:
        return
    theirs: set[Place] = set()
    for other in alike:
        for at in checkout.places_of(other) if other.path == place.path else ():
            theirs.update(server.references(at))
    theirs = {
        each
        for each in theirs
        if checkout.text_at(each) == symbol.name and not checkout.is_definition(each, symbol.name)
    }
    answer = checkout.project.references.find(
        ReferenceRequest(name=symbol.qualified_name, limit=_MOST_USES)
    )
    if answer.truncated or len(theirs) > _MOST_USES:
        return
    targets = {f"{each.path}:{each.line_start}" for each in alike}
    ours: dict[Place, Certainty] = {}
    for use in answer.references:
        at = Place(use.path, use.line, use.column)
        is_of_language = use.path in checkout.lines
        if use.use is Use.DEFINITION or not is_of_language or checkout.text_at(at) != symbol.name:
            continue
        # One that means the method of an interface is told of those that implement it.
        is_through = "." in symbol.qualified_name and use.target != symbol.qualified_name
        if use.certainty is Certainty.NAME or use.target_place in targets or is_through:
            ours[at] = use.certainty
    sure = {at for at, certainty in ours.items() if certainty is not Certainty.NAME}
    asked = {at: _keys_at(checkout, server, at, place.path) for at in sorted(sure - theirs)}
    theirs.update(at for at, keys in asked.items() if keys & same)
    unread = {at for at, keys in asked.items() if not keys}
    tally.unread += len(unread)
    sure -= unread
    exact = {at for at in sure if ours[at] is Certainty.EXACT}
    tally.definitions += 1
    tally.uses += len(theirs)
    tally.sure += len(sure)
    tally.sure_right += len(sure & theirs)
    tally.exact += len(exact)
    tally.exact_right += len(exact & theirs)
    tally.named_right += len(theirs & ours.keys())
    for at in sorted(theirs - sure):
        said = ours[at].value if at in ours else "none"
        line = checkout.lines[at.path][at.line - 1]
        _note(tally, f"reference missed, {said}", at, line, str(_key(symbol)))
    for at in sorted(sure - theirs):
        line = checkout.lines[at.path][at.line - 1]
        _note(tally, f"reference too many, {ours[at].value}", at, line, str(_key(symbol)))


def _keys_at(checkout: Checkout, server: LanguageServer, place: Place, opened: str) -> set[Key]:
    """Return the symbols to which the server resolves a place; something else is an empty key."""
    if place.path != opened:
        server.open(place.path)
    places = server.definitions(place)
    if place.path != opened:
        server.close(place.path)
    name = checkout.text_at(place)
    return {checkout.symbol_at(each, name) or ("", "") for each in places}


def _key(symbol: SymbolHit) -> Key:
    """Return what overloads and the branches of a condition have in common."""
    return symbol.path, symbol.qualified_name


def _note(tally: Tally, cause: str, place: Place, line: str, what: str) -> None:
    tally.misses[cause].append(
        f"{place.path}:{place.line}:{place.column} {line.strip()[:110]} | {what}"
    )


def _print_misses(tally: Tally, count: int) -> None:
    if not count:
        return
    for cause, examples in sorted(tally.misses.items()):
        print(f"{cause}: {len(examples)}")
        drawn = random.Random(_SEED).sample(examples, min(count, len(examples)))
        for example in sorted(drawn):
            print(f"    {example}")


def _print_tables(tallies: list[tuple[str, str, Tally]]) -> None:
    print("| language | repository | identifiers | first | among | exact | likely | wrong claims |")
    print("|---|---|---|---|---|---|---|---|")
    for language, name, tally in tallies:
        cells = [_share(tally.first, tally.resolved), _share(tally.among, tally.resolved)]
        for said in ("exact", "likely"):
            share = _share(tally.right[said], tally.said[said])
            claims = tally.said[said] + tally.wrong_claims[said]
            cells.append(f"{share}, {_share(tally.right[said], claims)} of all {claims:,}")
        wrong = ", ".join(f"{count} {said}" for said, count in sorted(tally.wrong_claims.items()))
        print(f"| {language} | {name} | {tally.resolved:,} | {' | '.join(cells)} | {wrong} |")
    print()
    names = ("language", "repository", "definitions", "uses", "recall", "by name", "precision")
    print(f"| {' | '.join(names)} | exact | unread |")
    print("|---|---|---|---|---|---|---|---|---|")
    for language, name, tally in tallies:
        cells = [
            _share(tally.sure_right, tally.uses),
            _share(tally.named_right, tally.uses),
            _share(tally.sure_right, tally.sure),
            _share(tally.exact_right, tally.exact),
            f"{tally.unread:,}",
        ]
        row = f"{tally.definitions:,} | {tally.uses:,} | {' | '.join(cells)}"
        print(f"| {language} | {name} | {row} |")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


if __name__ == "__main__":
    main()
