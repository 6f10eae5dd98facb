"""Find class and id selectors, variables, mixins and keyframes of style sheets, by their braces.

One scanner serves CSS, SCSS and Less: they differ in the text before a brace, not in the braces.
"""

import re
from typing import NamedTuple

from engine.syntax.outline import Entry

#: Characters that end a statement, and constructs that may contain them.
_TOKEN = re.compile(
    rb"[{};]|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?|\([^(){}\"'\n]*\)|"
    rb"[#@]\{[^{}\n]*\}?|(?<![:\w])//[^\n]*",
    re.DOTALL,
)
_ENDS = frozenset({b"{", b"}", b";"})
_BLANK = re.compile(rb"(?:\s+|/\*.*?(?:\*/|\Z)|//[^\n]*)*", re.DOTALL)
_BLANK_STARTS = frozenset({b" ", b"\t", b"\r", b"\n", b"\f", b"/"})
_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|(?<![:\w])//[^\n]*", re.DOTALL)
_AT_RULE = re.compile(
    rb"@(?:-\w+-)?(keyframes|mixin|function|property|counter-style)\s+([\w%-]+)", re.IGNORECASE
)
_AT_KINDS = {
    b"keyframes": "function",
    b"mixin": "macro",
    b"function": "function",
    b"property": "variable",
    b"counter-style": "variable",
}
_CUSTOM_PROPERTY = re.compile(rb"(--[\w\x80-\xff-]+)\s*:")
_VARIABLE = re.compile(rb"([$@][\w\x80-\xff-]+)\s*:")
_ARGUMENTS = re.compile(rb"\([^()]*\)|\[[^\[\]]*\]")
_INTERPOLATION = re.compile(rb"[#@]\{[^{}]*\}")  # a part of a name that is computed
_COMBINATOR = re.compile(rb"[\s>+~]+")
_SELECTOR = re.compile(rb"([.#%])(-{0,2}[A-Za-z_\x80-\xff](?:[\w\x80-\xff-]|\\.)*+)(?!\x00)")
_SUFFIX = re.compile(rb"&([_-][\w-]*)")
_MOST_PRELUDE = 20_000  # bytes examined of a list of selectors


class _Block(NamedTuple):
    scope: int  # start of the innermost rule with names; -1 outside of all
    outer: str  # the first name of that rule, for ``&__part``
    first: int  # of its candidates
    last: int  # of its candidates, exclusive


class _Candidate(NamedTuple):
    scope: int
    is_about: bool  # False: the rule styles something inside it
    entry: Entry


def entries_of_stylesheet(text: bytes) -> list[Entry]:
    """Return the definitions of a style sheet.

    A class or id counts once within a rule, and once outside all rules: where a rule styles it, or
    else at its first mention.
    """
    return _StyleSheet(text).entries()


class _StyleSheet:
    def __init__(self, text: bytes) -> None:
        self._text = text
        self._found: list[_Candidate] = []
        self._blocks = [_Block(-1, "", 0, 0)]

    def entries(self) -> list[Entry]:
        text = self._text
        start = 0  # of the statement
        for token in _TOKEN.finditer(text):
            mark = token.group()
            if mark not in _ENDS:
                continue
            if mark == b"{":
                self._open(start, token.start())
            else:
                self._declare(start, token.start())
            if mark == b"}":
                self._close(token.end())
            start = token.end()
        end = len(text.rstrip())
        while len(self._blocks) > 1:
            self._close(end)
        return self._chosen()

    def _open(self, start: int, end: int) -> None:
        start = self._without_blanks(start, end)
        if start == end:
            self._blocks.append(self._blocks[-1]._replace(first=0, last=0))
            return
        prelude = self._text[start : min(end, start + _MOST_PRELUDE)]
        first, scope, outer = len(self._found), self._blocks[-1].scope, self._blocks[-1].outer
        rule = _AT_RULE.match(prelude)
        if rule is not None:
            kind = _AT_KINDS[rule.group(1).lower()]
            self._add(Entry(start, -1, end, kind, _decoded(rule.group(2))), is_about=True)
        elif not prelude.startswith(b"@"):
            self._select(prelude, (start, end))
        if len(self._found) > first:
            scope, outer = start, self._found[first].entry.name
        self._blocks.append(_Block(scope, outer, first, len(self._found)))

    def _select(self, prelude: bytes, span: tuple[int, int]) -> None:
        """Record the classes and ids in a list of selectors."""
        plain = _COMMENT.sub(b" ", prelude)
        plain = _ARGUMENTS.sub(b"", _ARGUMENTS.sub(b"", _INTERPOLATION.sub(b"\0", plain)))
        outer = self._blocks[-1].outer
        found: dict[str, bool] = {}
        for selector in plain.split(b","):
            parts = _COMBINATOR.split(selector.strip())
            for index, part in enumerate(parts):
                names = [_decoded(match.group(2)) for match in _SELECTOR.finditer(part)]
                suffix = _SUFFIX.match(part)
                if suffix is not None and outer:
                    names.append(outer + _decoded(suffix.group(1)))
                is_about = index == len(parts) - 1
                for name in names:
                    found[name] = found.get(name, False) or is_about
        for name, is_about in found.items():
            entry = Entry(span[0], -1, span[1], "selector", name.replace("\\", ""))
            self._add(entry, is_about=is_about)

    def _add(self, entry: Entry, *, is_about: bool) -> None:
        self._found.append(_Candidate(self._blocks[-1].scope, is_about, entry))

    def _declare(self, start: int, end: int) -> None:
        """Record a custom property, or a variable outside all rules."""
        start = self._without_blanks(start, end)
        if self._text[start : start + 1] not in (b"-", b"$", b"@"):
            return
        declared = _CUSTOM_PROPERTY.match(self._text, start, end)
        if declared is None and len(self._blocks) == 1:
            declared = _VARIABLE.match(self._text, start, end)
        if declared is not None:
            end = start + len(self._text[start:end].rstrip())
            entry = Entry(start, end, end, "variable", _decoded(declared.group(1)))
            self._found.append(_Candidate(-1, True, entry))

    def _close(self, end: int) -> None:
        if len(self._blocks) == 1:
            return
        block = self._blocks.pop()
        for index in range(block.first, block.last):
            candidate = self._found[index]
            self._found[index] = candidate._replace(entry=candidate.entry._replace(end=end))

    def _without_blanks(self, start: int, end: int) -> int:
        if self._text[start : start + 1] not in _BLANK_STARTS:
            return start
        match = _BLANK.match(self._text, start, end)
        return match.end() if match is not None else start

    def _chosen(self) -> list[Entry]:
        """Keep each name once: where a rule styles it, else at its first mention."""
        chosen: dict[tuple[int, str, str], _Candidate] = {}
        for candidate in self._found:
            entry = candidate.entry
            key = (candidate.scope, entry.kind, entry.name)
            known = chosen.get(key)
            if known is None or (candidate.is_about and not known.is_about):
                chosen[key] = candidate
        return [candidate.entry for candidate in chosen.values()]


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "replace")
