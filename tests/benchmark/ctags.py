"""Compare the symbols that the engine finds with those of universal-ctags.

    python tests/benchmark/ctags.py --language python REPO… [--misses 20] [--extra 20]
    python tests/benchmark/ctags.py --all TREES.txt

A line of TREES.txt is a language and a folder. Counted are the functions, methods and types that
ctags finds in the files that the engine would index; one is found when a symbol of the engine has
its name at its line. Both read the same text: the engine's, written to a folder of its own. Needs
``ctags`` (Universal Ctags) on the PATH.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.records import FileEntry, Skip, Symbol
from engine.source.content import inspect
from engine.source.file_formats import is_lock_file
from engine.source.reader import TreeReader
from engine.source.walker import WalkRules, walk
from engine.syntax.languages import LANGUAGES, language_of
from engine.syntax.parser import parse
from tests.benchmark.ctags_tables import ENGINE_KINDS, TABLE, Side, Tag, cause_of, is_made_up

_DEADLINE_MS = 20_000
_HEAD_BYTES = 4096
_UNSURE = frozenset({None, "c", "cpp"})  # the content decides
_PART = re.compile(r"::|\\|[.:](?!:)")
_CLAUSE_HEAD = r"\s*(?:def\w*[\s(]+|@\w+\s+|(?:type|newtype|data|class)\s+)?\(?(?:\w+\.)*"
_TYPE_ARGUMENTS = re.compile(r"<.*>\W*$")


class Text(NamedTuple):
    """A file as the engine reads it."""

    language: str
    content: bytes


class Found(NamedTuple):
    """A symbol of the engine with the lines of its name."""

    name: str
    lines: tuple[int, ...]  # several where clauses, or a struct and its typedef, are one symbol
    symbol: Symbol


class Miss(NamedTuple):
    """A definition of one side that the other lacks."""

    path: str
    tag: Tag
    cause: str
    is_wrong: bool  # no definition of that name
    text: str  # of the line


class Comparison(NamedTuple):
    """What the two sides found in one repository."""

    files: int
    symbols: int  # of the engine, of every kind
    counted: int  # by ctags; what one symbol stands for counts once
    misses: list[Miss]
    extra: list[Miss]  # functions, methods and types of the engine that ctags lacks


def main() -> None:
    """Compare each repository and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--language", choices=sorted(TABLE))
    parser.add_argument("repositories", nargs="*", type=Path, metavar="REPO")
    parser.add_argument(
        "--all", type=Path, metavar="TREES", help="a file: a language and a folder a line"
    )
    parser.add_argument("--misses", type=int, default=0, help="examples of each cause to print")
    parser.add_argument("--extra", type=int, default=0, help="the same for what ctags lacks")
    arguments = parser.parse_args()
    pairs = [(arguments.language, path) for path in arguments.repositories]
    if arguments.all:
        lines = arguments.all.read_text().split("\n")
        pairs += [(words[0], Path(words[1])) for words in map(str.split, lines) if words]
    if not pairs or None in dict(pairs):
        parser.error("name a language and repositories, or a file of them")
    print(
        "| language | repository | files | symbols | ctags | found | share | ctags wrong | share |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for language, root in pairs:
        compared = compare(root, TABLE[language])
        print(_row(language, root.resolve().name, compared), flush=True)
        _print_examples(compared.misses, arguments.misses)
        _print_examples(compared.extra, arguments.extra)


def compare(root: Path, side: Side) -> Comparison:
    """Run both over the files of a language in a folder."""
    texts = dict(texts_of(root, side))
    tags = tags_of(texts, side)
    misses: list[Miss] = []
    extra: list[Miss] = []
    symbols = clauses = 0
    for path, (language, content) in texts.items():
        parsed = parse(content, language, deadline_ms=_DEADLINE_MS)
        lines = content.decode().split("\n")
        found = found_of(content, lines, parsed.symbols, language)
        symbols += len(found)
        unfound, used, more = _match(tags[path], found)
        clauses += more
        for tag in unfound:
            cause, is_wrong = cause_of(side, tag, lines)
            cause = cause or _guess(tag, found, has_errors=parsed.result != "ok")
            misses.append(Miss(path, tag, cause, is_wrong, _line(lines, tag.line)))
        for number, each in enumerate(found):
            if each.symbol.kind in ENGINE_KINDS and number not in used:
                tag = Tag(each.name, each.lines[0], each.symbol.kind)
                extra.append(
                    Miss(path, tag, f"only here: {tag.kind}", False, _line(lines, tag.line))
                )
    counted = sum(map(len, tags.values())) - clauses
    return Comparison(len(texts), symbols, counted, misses, extra)


def texts_of(root: Path, side: Side) -> Iterator[tuple[str, Text]]:
    """Give the path and text of each file of a language that the engine would index."""
    languages = side.languages.split()
    with TreeReader(str(root)) as reader:
        for entry in walk(str(root), WalkRules()):
            if isinstance(entry, Skip) or is_lock_file(entry.path):
                continue
            if language_of(entry.path) in _UNSURE or language_of(entry.path) in languages:
                text = _text_of(reader, entry)
                if text is not None and text.language in languages:
                    yield entry.path, text


def _text_of(reader: TreeReader, entry: FileEntry) -> Text | None:
    content = reader.read(entry, WalkRules().max_file_size_bytes)
    if isinstance(content, Skip):
        return None
    language = language_of(entry.path, content.data[:_HEAD_BYTES])
    if language is None:
        return None
    inspected = inspect(entry.path, content.data, language)
    return None if isinstance(inspected, Skip) else Text(language, inspected.text)


def tags_of(texts: dict[str, Text], side: Side) -> dict[str, list[Tag]]:
    """Run ctags over texts; give the tags of the kinds that count, by path and line."""
    with tempfile.TemporaryDirectory(prefix="ctags-") as folder:
        paths = {}
        for number, (path, text) in enumerate(texts.items()):
            file = Path(folder, f"{number}{Path(path).suffix or '.txt'}")
            file.write_bytes(text.content)
            paths[str(file)] = path
        command = "ctags --options=NONE --output-format=json --fields=+nKzSe -L - -f -"
        done = subprocess.run(
            [*command.split(), f"--language-force={side.ctags}"],
            input="\n".join(paths),
            capture_output=True,
            check=True,
            text=True,
            errors="replace",
        )
    kinds = frozenset(side.kinds.split())
    tags: dict[str, dict[tuple[str, int], Tag]] = defaultdict(dict)  # ctags gives some twice
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("kind") in kinds and not is_made_up(tag["name"]):
            name = plain_name(tag["name"])
            tags[paths[tag["path"]]][name, tag["line"]] = Tag(name, tag["line"], tag["kind"])
    by_line = {path: sorted(found.values(), key=_line_of) for path, found in tags.items()}
    return defaultdict(list, by_line)


def plain_name(name: str) -> str:
    """Give the last part of a qualified name, without type arguments, quotes and blanks."""
    if "operator" in name:
        return _TYPE_ARGUMENTS.sub("", name.rpartition("::")[2].replace(" ", ""))
    name = name.strip("\"'` ")
    parts = [part for part in _PART.split(name) if part]
    return parts[-1] if parts and name[-1] not in ".:" else name


def found_of(text: bytes, lines: list[str], symbols: list[Symbol], language: str) -> list[Found]:
    """Give symbols with the lines of their names."""
    grammar = LANGUAGES[language].grammar
    if grammar is None or not grammar.merges_clauses:
        return [Found(plain_name(s.name), _name_lines(text, s), s) for s in symbols]
    return [Found(plain_name(s.name), _clause_lines(text, lines, s), s) for s in symbols]


def name_line(text: bytes, symbol: Symbol) -> int:
    """Give the line of a symbol's name, from its signature.

    The signature is the text from the definition's first word on, with blanks for line breaks: the
    words before the name are looked up in the text after ``byte_start``, where attributes,
    decorators and templates may stand before them.
    """
    name = symbol.name.rpartition(".")[2] or symbol.name
    span = text[symbol.byte_start : symbol.byte_end]
    whole_name = re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")
    before, _, _ = symbol.signature.partition(name)
    words = [re.escape(word) for word in (before + name).encode().split()]
    found = re.search(rb"(?<!\w)" + rb"\s*".join(words) + rb"(?!\w)", span) if words else None
    if found is None:
        found = whole_name.search(span)
    offset = found.end() - 1 if found is not None else 0
    return symbol.line_start + span.count(b"\n", 0, offset)


def _name_lines(text: bytes, symbol: Symbol) -> tuple[int, ...]:
    """Give the line of the name; both of ``typedef struct Name {…} Name;``, which is one symbol."""
    if not symbol.signature.startswith("typedef"):
        return (name_line(text, symbol),)
    span = text[symbol.byte_start : symbol.byte_end]
    name = re.compile(rb"(?<!\w)" + re.escape(symbol.name.encode()) + rb"(?!\w)")
    offsets = [match.start() for match in name.finditer(span)] or [0]
    lines = {
        symbol.line_start + span.count(b"\n", 0, offset)
        for offset in offsets[:: len(offsets) - 1 or 1]
    }
    return tuple(sorted(lines))


def _clause_lines(text: bytes, lines: list[str], symbol: Symbol) -> tuple[int, ...]:
    """Give the lines in which the name begins a clause, or the one of the name."""
    name = re.escape(symbol.name.rpartition(".")[2] or symbol.name)
    numbers = range(symbol.line_start, symbol.line_end + 1)
    head = re.compile(rf"{_CLAUSE_HEAD}{name}(?![\w'])")
    found = tuple(number for number in numbers if head.match(lines[number - 1]))
    return found or (name_line(text, symbol),)


def _match(tags: list[Tag], found: list[Found]) -> tuple[list[Tag], set[int], int]:
    """Pair tags with symbols of the same name and line, each symbol once.

    Returns:
        The tags that found none; the symbols that were paired; and how many tags are further
        clauses, or the typedef, of a symbol that was paired with an earlier one.
    """
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, each in enumerate(found):
        for line in each.lines:
            places[each.name, line].append(number)
    used: set[int] = set()
    unfound = []
    clauses = 0
    for tag in tags:
        numbers = places.get((tag.name, tag.line), [])
        free = [number for number in numbers if number not in used]
        if free:
            used.add(free[0])
        elif any(len(found[number].lines) > 1 for number in numbers):
            clauses += 1
        else:
            unfound.append(tag)
    return unfound, used, clauses


def _guess(tag: Tag, found: list[Found], *, has_errors: bool) -> str:
    """Name what may be the cause of a miss that nothing explains."""
    if has_errors:
        return "? the text does not fit the grammar"
    is_elsewhere = any(each.name == tag.name for each in found)
    return f"? {tag.kind}{', there is one on another line' if is_elsewhere else ''}"


def _line_of(tag: Tag) -> int:
    return tag.line


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1].strip()[:120] if 0 < number <= len(lines) else ""


def _row(language: str, name: str, compared: Comparison) -> str:
    found = compared.counted - len(compared.misses)
    wrong = sum(miss.is_wrong for miss in compared.misses)
    shares = [100 * found / max(1, total) for total in (compared.counted, compared.counted - wrong)]
    return (
        f"| {language} | {name} | {compared.files} | {compared.symbols:,} | {compared.counted:,} "
        f"| {found:,} | {shares[0]:.1f} % | {wrong:,} | {shares[1]:.1f} % |"
    )


def _print_examples(misses: list[Miss], limit: int) -> None:
    if not limit:
        return
    groups: Counter[tuple[bool, str]] = Counter((miss.is_wrong, miss.cause) for miss in misses)
    for (is_wrong, cause), count in groups.most_common():
        print(f"  {count:5} {'ctags is wrong: ' if is_wrong else ''}{cause}")
        group = [miss for miss in misses if miss.cause == cause]
        for miss in group[:: max(1, count // limit)][:limit]:
            print(
                f"        {miss.path}:{miss.tag.line} {miss.tag.kind} {miss.tag.name}: {miss.text}"
            )


if __name__ == "__main__":
    main()
