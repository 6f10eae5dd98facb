"""What a change affects, as text, as compact JSON and as graphs, as much as a budget has room for.

What is surer and nearer comes first, so that this is what a budget leaves. Tests stand apart, by
file, after files of tests that are changed themselves.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from engine.humanize import count
from engine.reference_records import (
    Certainty,
    ChangedDefinition,
    Dependent,
    Direction,
    ImpactAnswer,
    ImpactRequest,
    Use,
)
from web.budget import Shown, whole_of
from web.calls import dot_of, graph_nodes, mermaid_of
from web.markdown import code_of, section
from web.references import counts_text
from web.terminal import Style, printable

_VERBS = {
    Use.CALL: "calls",
    Use.INHERIT: "extends",
    Use.TYPE: "has the type",
    Use.USE: "uses",
    Use.IMPORT: "imports",
}
_BY_ITSELF = re.compile(r"__\w+__$")
_MOST_DEFINITIONS = 20  # that a text names
_MOST_BY_NAME = 8  # dependents that a text lists
_MOST_TESTS = 3  # of a file, that are named
_MOST_LINES = 4  # of the uses in one definition
_BY_NAME = "by name alone: perhaps another of this name"


def impact_text(answer: ImpactAnswer, shown: Shown, style: Style) -> str:
    """Return what changes, then what depends on it by depth, then tests by file.

    The text has no line end, and is empty for nothing.

    Args:
        answer: The answer.
        shown: How much of it.
        style: Colours or none.
    """
    dependents, tests = _parts_of(answer, shown)
    blocks = ["\n".join(_definition_lines(answer, shown, style))] if shown.definitions else []
    for title, rows, more in _groups(dependents):
        block = _block(title, rows, style, is_brief=shown.is_brief)
        blocks.append(f"{block}\n  {style.dim(f'and {more:,} more')}" if more else block)
    changed = _changed_tests(answer, shown, tests)
    if changed or tests:
        lines = _test_lines(changed, tests, style, is_brief=shown.is_brief)
        blocks.append("\n".join(lines))
    return ("\n" if shown.is_brief else "\n\n").join(blocks)


def impact_markdown(answer: ImpactAnswer, shown: Shown) -> list[str]:
    """Return what changes, then what depends on it by depth, then tests, as blocks of Markdown.

    Args:
        answer: The answer.
        shown: How much of it.
    """
    dependents, tests = _parts_of(answer, shown)
    asked = answer.name or answer.path
    title = f"on {code_of(asked)}" if asked else "on what changed"
    blocks = [f"## What depends {title}"]
    if shown.definitions:
        named = answer.definitions[: min(shown.definitions, _MOST_DEFINITIONS)]
        lines = [f"- {_definition_markdown(each)}" for each in named]
        more = len(answer.definitions) - len(named)
        blocks.append("\n".join([*lines, *([f"- and {more:,} more"] if more else [])]))
    for heading, rows, more in _groups(dependents):
        items = [_dependent_markdown(each, is_brief=shown.is_brief) for each in rows]
        items += [f"and {more:,} more"] if more else []
        blocks.append(section(heading.capitalize(), items))
    files = [f"{code_of(path)} changed" for path in _changed_tests(answer, shown, tests)]
    files += [
        _file_markdown(path, found, is_brief=shown.is_brief)
        for path, found in _by_file(tests).items()
    ]
    if files:
        blocks.append(section("Tests", files))
    return blocks


def _groups(
    dependents: Sequence[Dependent],
) -> Iterator[tuple[str, Sequence[Dependent], int]]:
    """Yield titles with the dependents below them, and how many more there are.

    The sure ones come by depth, then those by name alone.
    """
    sure = [each for each in dependents if each.certainty is not Certainty.NAME]
    by_name = [each for each in dependents if each.certainty is Certainty.NAME]
    for depth in sorted({each.depth for each in sure}):
        yield f"depth {depth}", [each for each in sure if each.depth == depth], 0
    if by_name:
        yield _BY_NAME, by_name[:_MOST_BY_NAME], max(0, len(by_name) - _MOST_BY_NAME)


def _by_file(tests: Sequence[Dependent]) -> dict[str, list[Dependent]]:
    found: dict[str, list[Dependent]] = {}
    for each in tests:
        found.setdefault(each.path, []).append(each)
    return found


def _definition_markdown(each: ChangedDefinition) -> str:
    about = "code outside of definitions" if each.kind == "module" else code_of(each.name)
    parts = [code_of(f"{each.path}:{each.line}"), about if each.name != each.path else each.kind]
    return " ".join([*parts, *([each.change.value] if each.change else [])])


def _dependent_markdown(each: Dependent, *, is_brief: bool) -> str:
    name = _name_of(each)
    parts = [code_of(f"{each.path}:{each.line}"), *([code_of(name)] if name else [])]
    told = [each.certainty.value]
    if not is_brief:
        verb, via, lines = _reason_of(each)
        told.append(f"{verb} {code_of(via)} {lines}")
    return f"{' '.join(parts)} {', '.join(told)}"


def _file_markdown(path: str, tests: Sequence[Dependent], *, is_brief: bool) -> str:
    nearest = tests[0]
    line = f"{code_of(path)} depth {nearest.depth}, {nearest.certainty.value}"
    named = [each for each in tests if _name_of(each)]
    if is_brief or not named:
        return line
    more = len(named) - _MOST_TESTS
    told = [f"{code_of(_name_of(each))} {each.line}" for each in named[:_MOST_TESTS]]
    return f"{line}: {', '.join([*told, *([f'and {more:,} more'] if more > 0 else [])])}"


def nothing_affected(answer: ImpactAnswer, wanted: ImpactRequest, nothing: str) -> str:
    """Say what was not found, and what to try; empty if dependents and tests were.

    Args:
        answer: The answer.
        wanted: The request.
        nothing: What to say if there is no such definition.
    """
    if not answer.definitions:
        if wanted.changed:
            return "nothing differs from the last commit"
        return nothing if wanted.path is None else "this file defines nothing"
    if not answer.total:
        return "nothing was found that depends on it"
    return "" if answer.test_files or answer.total_tests else "no test was found to reach it"


def impact_totals(answer: ImpactAnswer, *, is_brief: bool = False) -> str:
    """Count what was found, by certainty."""
    total = count(answer.total, "dependent")
    if answer.total_tests:
        total += f", {count(answer.total_tests, 'test')} among them"
    if is_brief or not answer.total:
        return total
    return f"{total}, in {count(answer.files, 'file')}: {counts_text(answer.certainties)}"


def compact_impact(answer: ImpactAnswer, shown: Shown) -> dict[str, Any]:
    """Return an answer as JSON for a budget: what is known and worth its bytes."""
    dependents, tests = _parts_of(answer, shown)
    whole = whole_of(answer)
    return {
        "definitions": [
            _compact_definition(each) for each in answer.definitions[: shown.definitions]
        ],
        "dependents": [_compact_dependent(each, is_brief=shown.is_brief) for each in dependents],
        "tests": [
            _compact_file(path, found, is_brief=shown.is_brief)
            for path, found in _by_file(tests).items()
        ],
        "total": answer.total,
        "total_tests": answer.total_tests,
        **({} if shown.is_brief else {"certainties": answer.certainties}),
        "truncated": answer.truncated or shown[:2] != whole[:2],
    }


def impact_part(answer: ImpactAnswer, shown: Shown) -> ImpactAnswer:
    """Return an answer with so much of what it lists; in brief without notes."""
    whole = whole_of(answer)
    if shown == whole:
        return answer
    dependents, tests = _parts_of(answer, shown)
    return replace(
        answer,
        definitions=answer.definitions[: shown.definitions],
        dependents=tuple(dependents),
        tests=tuple(tests),
        test_files=files_to_run(answer, shown),
        truncated=answer.truncated or shown[:2] != whole[:2],
        notes=() if shown.is_brief else answer.notes,
    )


def files_to_run(answer: ImpactAnswer, shown: Shown) -> tuple[str, ...]:
    """Return the files to run: all, or those of the changed definitions and tests that are shown.

    Args:
        answer: The answer.
        shown: How much of it.
    """
    if shown[:2] == whole_of(answer)[:2]:
        return answer.test_files
    _, tests = _parts_of(answer, shown)
    kept = {each.path for each in tests} | _changed_paths(answer, shown)
    return tuple([path for path in answer.test_files if path in kept])


def _changed_tests(answer: ImpactAnswer, shown: Shown, tests: Sequence[Dependent]) -> Sequence[str]:
    """Return the files to run that are changed, and have none of the tests that are shown."""
    others = _changed_paths(answer, shown) - {each.path for each in tests}
    return [path for path in answer.test_files if path in others]


def _changed_paths(answer: ImpactAnswer, shown: Shown) -> set[str]:
    return {each.path for each in answer.definitions[: shown.definitions] if each.change}


def impact_mermaid(answer: ImpactAnswer, *, nothing: str) -> str:
    """Return a flow chart from dependents to what they depend on; names are escaped."""
    nodes = graph_nodes(_starts_of(answer), _by_depth(answer))
    return mermaid_of(nodes, Direction.CALLERS, nothing=nothing, cut=_cut_of(answer))


def impact_dot(answer: ImpactAnswer, *, nothing: str) -> str:
    """Return a graph for Graphviz from dependents to what they depend on; names are escaped."""
    nodes = graph_nodes(_starts_of(answer), _by_depth(answer))
    return dot_of(nodes, Direction.CALLERS, nothing=nothing, cut=_cut_of(answer))


def _cut_of(answer: ImpactAnswer) -> str:
    """Say how much of an answer a graph has, if it is not all."""
    shown = len(answer.dependents) + len(answer.tests)
    total = count(answer.total, "dependent")
    return f"truncated: {shown:,} of {total}" if answer.truncated else ""


def _starts_of(answer: ImpactAnswer) -> Iterator[tuple[str, str, int]]:
    return ((each.name, each.path, each.line) for each in answer.definitions)


def _by_depth(answer: ImpactAnswer) -> list[Dependent]:
    return sorted([*answer.dependents, *answer.tests], key=lambda each: each.depth)


def _parts_of(answer: ImpactAnswer, shown: Shown) -> tuple[list[Dependent], list[Dependent]]:
    """Return the dependents and the tests that are shown: the surest, then the nearest ones.

    As many of each, as long as there are, so that neither takes all the room.
    """
    nearest = (
        sorted(listed, key=lambda each: (each.certainty is Certainty.NAME, each.depth))
        for listed in (answer.dependents, answer.tests)
    )
    ordered = [each for pair in zip_longest(*nearest) for each in pair if each]
    kept = {(each.path, each.name) for each in ordered[: shown.items]}
    dependents = [each for each in answer.dependents if (each.path, each.name) in kept]
    return dependents, [each for each in answer.tests if (each.path, each.name) in kept]


def _definition_lines(answer: ImpactAnswer, shown: Shown, style: Style) -> Iterator[str]:
    named = answer.definitions[: min(shown.definitions, _MOST_DEFINITIONS)]
    yield from (_definition_line(each, style) for each in named)
    if more := len(answer.definitions) - len(named):
        yield style.dim(f"and {more:,} more")


def _definition_line(each: ChangedDefinition, style: Style) -> str:
    place = style.place(printable(f"{each.path}:{each.line}"))
    name = f"code outside of definitions in {each.path}" if each.kind == "module" else each.name
    parts = [place, style.bold(printable(name)) if name != each.path else each.kind]
    return "  ".join([*parts, *([each.change.value] if each.change else [])])


def _block(title: str, rows: Sequence[Dependent], style: Style, *, is_brief: bool) -> str:
    lines = (f"  {_line(each, style, is_brief=is_brief)}" for each in rows)
    return "\n".join([style.bold(title), *lines])


def _line(each: Dependent, style: Style, *, is_brief: bool) -> str:
    place = style.place(printable(f"{each.path}:{each.line}"))
    name = style.bold(printable(_name_of(each)))
    parts = [place, *([name] if name else []), each.certainty.value]
    if is_brief:
        return "  ".join(parts)
    verb, via, lines = _reason_of(each)
    return "  ".join([*parts, style.dim(f"{verb} {printable(via)} {lines}")])


def _name_of(each: Dependent) -> str:
    """Return the name of a dependent; of code outside of definitions none, as its place says it."""
    return "" if each.name == each.path else each.name


def _reason_of(each: Dependent) -> tuple[str, str, str]:
    """Return what a dependent does, with what, and where."""
    verb, via = _VERBS[each.use], each.via
    is_namesake = _last(each.name) == _last(via)
    if each.use is Use.INHERIT and is_namesake:
        verb = "overrides"
    elif each.use in (Use.CALL, Use.INHERIT) and _BY_ITSELF.match(_last(via)) and not is_namesake:
        # The class is constructed or extended, and has this method.
        verb = "constructs" if each.use is Use.CALL else verb
        via = via.rpartition(".")[0] or via
    perhaps = "perhaps " if each.certainty is Certainty.NAME else ""
    lines = ", ".join(map(str, each.lines[:_MOST_LINES]))
    lines += ", …" if len(each.lines) > _MOST_LINES else ""
    word = "line" if len(each.lines) == 1 else "lines"
    return f"{perhaps}{verb}", via, f"on {word} {lines}"


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _test_lines(
    changed: Sequence[str], tests: Sequence[Dependent], style: Style, *, is_brief: bool
) -> Iterator[str]:
    """Yield changed files, then those with tests, the nearest first, a line each with its tests."""
    yield style.bold("tests")
    yield from (f"  {style.place(printable(path))}  changed" for path in changed)
    for path, found in _by_file(tests).items():
        nearest = found[0]
        parts = [style.place(printable(path)), f"depth {nearest.depth}", nearest.certainty.value]
        names = [f"{printable(_name_of(each))}:{each.line}" for each in found if _name_of(each)]
        if names and not is_brief:
            more = len(names) - _MOST_TESTS
            told = [*names[:_MOST_TESTS], *([f"and {more:,} more"] if more > 0 else [])]
            parts.append(style.dim(", ".join(told)))
        yield "  " + "  ".join(parts)


def _compact_definition(each: ChangedDefinition) -> dict[str, Any]:
    shape: dict[str, Any] = {"path": each.path, "line": each.line, "symbol": each.name}
    return {**shape, "change": each.change.value} if each.change else shape


def _compact_dependent(each: Dependent, *, is_brief: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {"path": each.path, "line": each.line}
    if name := _name_of(each):
        shape["symbol"] = name
    shape |= {"depth": each.depth, "certainty": each.certainty.value}
    return shape if is_brief else {**shape, "use": each.use.value, "via": each.via}


def _compact_file(path: str, tests: Sequence[Dependent], *, is_brief: bool) -> dict[str, Any]:
    """Return the tests of a file, by the nearest and surest of them, and how many are not named."""
    nearest = tests[0]
    shape: dict[str, Any] = {
        "path": path,
        "depth": nearest.depth,
        "certainty": nearest.certainty.value,
    }
    names = [name for each in tests if (name := _name_of(each))]
    if is_brief or not names:
        return shape
    more = len(names) - _MOST_TESTS
    return {**shape, "symbols": names[:_MOST_TESTS], **({"more": more} if more > 0 else {})}
