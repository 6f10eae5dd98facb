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
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.records import Skip, Symbol
from engine.source.content import inspect, is_lock_file
from engine.source.reader import TreeReader
from engine.source.walker import WalkRules, walk
from engine.syntax.languages import LANGUAGES, language_of
from engine.syntax.parser import parse
from tests.benchmark.ctags_tables import ENGINE_KINDS, NOTES, TABLE, Side, Tag, cause_of

_DEADLINE_MS = 20_000
_LARGEST_BYTES = 1 << 20
_HEAD_BYTES = 4096
_PART = re.compile(r"::|\\|[.:](?!:)")


class Found(NamedTuple):
    """A symbol of the engine with the line of its name."""

    name: str
    line: int  # of the name, not of the decorators before it
    symbol: Symbol


class Miss(NamedTuple):
    """A definition of one side that the other lacks."""

    path: str
    tag: Tag
    cause: str
    text: str  # of the line


class Comparison(NamedTuple):
    """What the two sides found in one repository."""

    files: int
    symbols: int  # of the engine, of every kind
    counted: int  # by ctags
    misses: list[Miss]
    other_kind: int  # found, but as a variable, constant, property …
    clauses: int  # further clauses of a function that the engine takes as one
    engine_counted: int  # functions, methods and types of the engine
    extra: list[Miss]  # of those, what ctags lacks


def main() -> None:
    """Compare each repository and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--language", choices=sorted(TABLE))
    parser.add_argument("repositories", nargs="*", type=Path, metavar="REPO")
    parser.add_argument(
        "--all", type=Path, metavar="TREES", help="lines of a language and a folder"
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
    print("| language | repository | files | ctags | found | share | missed for a fault of ours |")
    print("|---|---|---|---|---|---|---|")
    for language, root in pairs:
        compared = compare(root, TABLE[language])
        _print_row(language, root.resolve().name, compared)
        _print_examples(compared.misses, arguments.misses)
        _print_examples(compared.extra, arguments.extra)
    print(f"\n{NOTES}")


def compare(root: Path, side: Side) -> Comparison:
    """Run both over the files of a language in a folder."""
    texts = dict(texts_of(root, side))
    tags = tags_of(texts, side)
    misses: list[Miss] = []
    extra: list[Miss] = []
    counts: Counter[str] = Counter()
    for path, (language, text) in texts.items():
        parsed = parse(text, language, deadline_ms=_DEADLINE_MS)
        found = [Found(s.name, name_line(text, s), s) for s in parsed.symbols]
        lines = text.decode().split("\n")
        counts["symbols"] += len(found)
        unfound, used = _match(
            tags[path], found, counts, has_clauses=LANGUAGES[language].grammar.merges_clauses
        )
        has_errors = parsed.result != "ok"
        for tag in unfound:
            cause = cause_of(side, tag, lines) or _guess(tag, found, has_errors=has_errors)
            misses.append(Miss(path, tag, cause, _line(lines, tag.line)))
        for number, each in enumerate(found):
            if each.symbol.kind in ENGINE_KINDS:
                counts["engine"] += 1
                if number not in used:
                    tag = Tag(each.name, each.line, each.symbol.kind)
                    extra.append(Miss(path, tag, f"only ours: {tag.kind}", _line(lines, tag.line)))
    return Comparison(
        len(texts),
        counts["symbols"],
        sum(map(len, tags.values())) - counts["clauses"],
        misses,
        counts["other kind"],
        counts["clauses"],
        counts["engine"],
        extra,
    )


def texts_of(root: Path, side: Side) -> Iterator[tuple[str, tuple[str, bytes]]]:
    """Give the path, language and text of each file that the engine would index."""
    with TreeReader(str(root)) as reader:
        for entry in walk(str(root), WalkRules()):
            if isinstance(entry, Skip) or is_lock_file(entry.path):
                continue
            guessed = language_of(entry.path)
            if (
                guessed is not None
                and guessed not in side.languages
                and guessed not in {"c", "cpp"}
            ):
                continue
            content = reader.read(entry, _LARGEST_BYTES)
            if isinstance(content, Skip):
                continue
            language = language_of(entry.path, content.data[:_HEAD_BYTES])
            if language not in side.languages:
                continue
            inspected = inspect(entry.path, content.data, language)
            if not isinstance(inspected, Skip):
                yield entry.path, (language, inspected.text)


def tags_of(texts: dict[str, tuple[str, bytes]], side: Side) -> dict[str, list[Tag]]:
    """Run ctags over texts; give the tags of the kinds that count, by path and line."""
    folder = Path(tempfile.mkdtemp(prefix="ctags-"))
    try:
        names = {}
        for number, (path, (_, text)) in enumerate(texts.items()):
            name = folder / f"{number}{Path(path).suffix or '.txt'}"
            name.write_bytes(text)
            names[str(name)] = path
        done = subprocess.run(
            [
                "ctags", "--options=NONE", "--output-format=json", "--fields=+nKzSe",
                f"--language-force={side.ctags}", "-L", "-", "-f", "-",
            ],
            input="\n".join(names), capture_output=True, check=True, text=True, errors="replace",
        )  # fmt: skip
    finally:
        shutil.rmtree(folder)
    tags: dict[str, list[Tag]] = defaultdict(list)
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and tag.get("kind") in side.kinds:
            name = plain_name(tag["name"])
            if not side.is_made_up(tag["name"]):
                tags[names[tag["path"]]].append(Tag(name, tag["line"], tag["kind"]))
    for path, found in tags.items():
        by_place = {(tag.name, tag.line): tag for tag in found}  # ctags gives some twice
        tags[path] = sorted(by_place.values(), key=lambda tag: tag.line)
    return tags


def plain_name(name: str) -> str:
    """Give the last part of a qualified name, without type arguments, quotes and blanks."""
    if "operator" in name:
        return name.rpartition("::")[2].replace(" ", "")
    name = name.strip("\"'`")
    parts = [part for part in _PART.split(name) if part]
    return parts[-1] if parts and name[-1].isalnum() else name


def name_line(text: bytes, symbol: Symbol) -> int:
    """Give the line of a symbol's name, from its signature.

    The signature is the text from the definition's first word on, with blanks for line breaks: the
    words before the name are looked up in the text after ``byte_start``, where attributes,
    decorators and templates may stand before them.
    """
    name = symbol.name.rpartition(".")[2] or symbol.name
    span = text[symbol.byte_start : symbol.byte_end]
    before, _, _ = symbol.signature.partition(name)
    words = [re.escape(word) for word in (before + name).encode().split()]
    found = re.search(rb"(?<!\w)" + rb"\s*".join(words) + rb"(?!\w)", span) if words else None
    if found is None:
        found = re.search(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)", span)
    offset = found.end() - 1 if found is not None else 0
    return symbol.line_start + span.count(b"\n", 0, offset)


def _match(
    tags: list[Tag], found: list[Found], counts: Counter[str], *, has_clauses: bool
) -> tuple[list[Tag], set[int]]:
    """Pair tags with symbols of the same name and line, each symbol once."""
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, each in enumerate(found):
        places[plain_name(each.name), each.line].append(number)
    used: set[int] = set()
    unfound = []
    for tag in tags:
        numbers = places.get((tag.name, tag.line))
        if numbers:
            number = numbers.pop(0)
            used.add(number)
            counts["other kind"] += found[number].symbol.kind not in ENGINE_KINDS
        else:
            unfound.append(tag)
    if has_clauses:
        unfound = _without_clauses(unfound, found, used, counts)
    return unfound, used


def _without_clauses(
    tags: list[Tag], found: list[Found], used: set[int], counts: Counter[str]
) -> list[Tag]:
    """Leave out the further clauses of functions whose first clause was found."""
    spans = defaultdict(list)
    for number in used:
        symbol = found[number].symbol
        spans[symbol.name].append((symbol.line_start, symbol.line_end))
    unfound = [
        tag
        for tag in tags
        if not any(start <= tag.line <= end for start, end in spans.get(tag.name, ()))
    ]
    counts["clauses"] += len(tags) - len(unfound)
    return unfound


def _guess(tag: Tag, found: list[Found], *, has_errors: bool) -> str:
    """Name what may be the cause of a miss that nothing explains."""
    if has_errors:
        return "? the text does not fit the grammar"
    near = [each.line for each in found if plain_name(each.name) == tag.name]
    if near:
        distance = min(abs(line - tag.line) for line in near)
        return f"? {tag.kind}, on another line {'near' if distance < 5 else 'far'}"
    return f"? {tag.kind}"


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1].strip()[:120] if 0 < number <= len(lines) else ""


def _print_row(language: str, name: str, compared: Comparison) -> None:
    found = compared.counted - len(compared.misses)
    share = 100 * found / compared.counted if compared.counted else 100.0
    justified = sum(not miss.cause.startswith("?") for miss in compared.misses)
    real = 100 * found / (compared.counted - justified) if found else 0.0
    print(
        f"| {language} | {name} | {compared.files} | {compared.counted} | {found} | {share:.1f} % "
        f"| {justified} | {real:.1f} % "
        f"| symbols {compared.symbols}, other kind {compared.other_kind}, clauses "
        f"{compared.clauses}, extra {len(compared.extra)} of {compared.engine_counted} |",
        flush=True,
    )


def _print_examples(misses: list[Miss], limit: int) -> None:
    if not limit:
        return
    groups: dict[str, list[Miss]] = defaultdict(list)
    for miss in misses:
        groups[miss.cause].append(miss)
    for cause, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"  {len(group):5} {cause}")
        step = max(1, len(group) // limit)
        for miss in group[::step][:limit]:
            print(
                f"        {miss.path}:{miss.tag.line} {miss.tag.kind} {miss.tag.name}: {miss.text}"
            )


if __name__ == "__main__":
    main()
