"""Find the stages, arguments and environment variables of Dockerfiles, by instructions."""

import re
from bisect import bisect_left

from engine.syntax.comments import comment_start
from engine.syntax.languages import LANGUAGES
from engine.syntax.outline import Entry

#: An instruction continues after a backslash at the end of a line, then also over comment lines.
_INSTRUCTION = re.compile(
    rb"^[ \t]*(FROM|ARG|ENV|RUN|COPY|ADD)\s((?:[^\\\n]+|\\[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*|\\)*)",
    re.MULTILINE | re.IGNORECASE,
)
_STAGE = re.compile(rb"\s*(?:--\S+\s+)*\S+\s+AS\s+(\S+)", re.IGNORECASE)
_ARGUMENT = re.compile(rb"\s*([A-Za-z_]\w*)")
_PAIR = re.compile(rb"([A-Za-z_]\w*)=(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|[^\s\\\"'])*", re.DOTALL)
_HERE_DOCUMENT = re.compile(rb"<<-?[\"']?(\w+)")
_ONE_WORD_LINE = re.compile(rb"^\t*(\w+)\r?$", re.MULTILINE)
_COMMENTS = LANGUAGES["dockerfile"].comments


def entries_of_dockerfile(text: bytes) -> list[Entry]:
    """Return the named stages of a Dockerfile and the variables set by ``ARG`` and ``ENV``."""
    entries: list[Entry] = []
    stage: Entry | None = None
    lines = _one_word_lines(text) if b"<<" in text else {}
    position = 0
    while (match := _INSTRUCTION.search(text, position)) is not None:
        word, rest = match.group(1).upper(), match.group(2)
        start, position = match.start(1), match.end()
        end = start + len(match.group().strip())
        if word == b"FROM":
            if stage is not None:
                entries.append(stage._replace(end=_end_of_stage(text, stage, start)))
            name = _STAGE.match(rest)
            stage = Entry(start, 0, end, "target", _decoded(name)) if name is not None else None
        elif word == b"ARG":
            name = _ARGUMENT.match(rest)
            if name is not None:
                entries.append(_variable(start, end, _decoded(name)))
        elif word == b"ENV":
            entries += _environment(rest, start, end)
        else:
            position = _behind_documents(rest, position, lines)
    if stage is not None:
        entries.append(stage._replace(end=len(text.rstrip())))
    return _first_of_each(entries)


def _variable(start: int, end: int, name: str) -> Entry:
    kind = "constant" if len(name) > 1 and name.isupper() else "variable"
    return Entry(start, end, end, kind, name)


def _environment(rest: bytes, start: int, end: int) -> list[Entry]:
    """Return the variables of ``ENV NAME=value …`` and ``ENV NAME value``."""
    first = _ARGUMENT.match(rest)
    if first is None:
        return []
    if rest[first.end() : first.end() + 1] != b"=":
        return [_variable(start, end, _decoded(first))]
    return [_variable(start, end, _decoded(pair)) for pair in _PAIR.finditer(rest)]


def _end_of_stage(text: bytes, stage: Entry, following: int) -> int:
    """Return the end of a stage, before the comment of the next one."""
    end = max(stage.head_end, comment_start(text, following, _COMMENTS))
    return stage.head_end + len(text[stage.head_end : end].rstrip())


def _one_word_lines(text: bytes) -> dict[bytes, list[int]]:
    """Return where each word stands alone on a line, which ends here-documents."""
    lines: dict[bytes, list[int]] = {}
    for match in _ONE_WORD_LINE.finditer(text):
        lines.setdefault(match.group(1), []).append(match.end())
    return lines


def _behind_documents(rest: bytes, position: int, lines: dict[bytes, list[int]]) -> int:
    """Return the end of an instruction with its here-documents, which may hold anything."""
    for opening in _HERE_DOCUMENT.finditer(rest):
        ends = lines.get(opening.group(1), [])
        index = bisect_left(ends, position + 1)
        if index < len(ends):
            position = ends[index]
    return position


def _first_of_each(entries: list[Entry]) -> list[Entry]:
    """Drop repeated variables."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        found.setdefault((entry.kind, entry.name), entry)
    return list(found.values())


def _decoded(match: re.Match[bytes]) -> str:
    return match.group(1).decode("utf-8", "replace")
