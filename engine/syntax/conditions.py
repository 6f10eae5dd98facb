"""Make C and C++ readable where conditions of the preprocessor split a statement or a definition.

Grammars read each branch of ``#if … #else … #endif`` by itself, so none may open or close more
brackets than it has. Where one does, as ``if(a) {`` in one branch and ``if(!a) {`` in the other,
the rest of the file can be lost. There, one branch is taken as the compiler would take it, and the
lines of the condition are blanked. Of the other branches an unmatched brace becomes a semicolon, so
that what they use and declare is still found.

The same condition is decided in the same way throughout a text, so what is opened is closed too.
Lengths and lines stay the same.
"""

import re
from typing import NamedTuple

_DIRECTIVE = re.compile(
    rb"\n[ \t]*#[ \t]*(?:(if|ifdef|ifndef|elif|else|endif)\b)"
    rb"((?:[^\\\n/]|\\\r?\n|\\|/\*(?:[^*]{1,400}+|\*(?!/)){0,20}+\*/|/)*)"
)
#: What is not code, and the brackets of what is.
_TOKEN = re.compile(
    rb"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
    rb"|(?<=\n)[ \t]*#(?:[^\\\n]|\\\r?\n|\\)*|([{}()])",
    re.DOTALL,
)
_COMMENT = re.compile(rb"/\*.*?(?:\*/|$)|//.*", re.DOTALL)
_BLANKS = re.compile(rb"\s+|\\")
_NEGATED = re.compile(rb"!\(?(?:defined\(?)?(\w+)\)*")
_DEFINED = re.compile(rb"(?:defined)?\(?(\w+)\)?")
_NOT_BLANK = re.compile(rb"[^\r\n]")
_ELSE = re.compile(rb"\s*else\b")
_BEFORE_BLOCK = re.compile(rb"\b(?:else|do)\s*$")
#: How a branch begins and ends that is a part of an expression, of a list or of ``if … else``.
_GOES_ON = re.compile(
    rb"(?:\s|/\*(?:[^*]{1,400}+|\*(?!/)){0,20}+\*/)*(?:&&|\|\|?|[=!]=|[?,]|:(?!:)|\"|else\b)"
)
_IS_OPEN = re.compile(rb"(?:[=|&?,!]|(?<!\+)\+|(?<!-)-|\b(?:else|return))$")
_IS_HEAD = re.compile(rb"\b(?:if|for|while)[ \t]*\([^;{}]*\)$")
_BEHIND = re.compile(rb"\s*\{")
_MOST_DIRECTIVES = 20_000
_MOST_OPEN = 200  # brackets of a branch; more are no code
_LONGEST_WORD = 40
_LONGEST_TAIL = 400
_LONGEST_PART = 4000  # bytes; what is longer is no part of a statement


class _Brackets(NamedTuple):
    """The offsets of the brackets of a piece of text that it does not match itself."""

    closing: tuple[int, ...] = ()
    opening: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.closing or self.opening)

    def then(self, later: "_Brackets") -> "_Brackets":
        """Return those of a piece and the one behind it."""
        matched = min(len(self.opening), len(later.closing))
        return _Brackets(
            self.closing + later.closing[matched:],
            self.opening[: len(self.opening) - matched] + later.opening,
        )


class _Shape(NamedTuple):
    braces: _Brackets = _Brackets()
    parentheses: _Brackets = _Brackets()

    @property
    def is_whole(self) -> bool:
        return not (self.braces or self.parentheses)

    @property
    def size(self) -> int:
        return sum(map(len, (*self.braces, *self.parentheses)))

    def then(self, later: "_Shape") -> "_Shape":
        return _Shape(self.braces.then(later.braces), self.parentheses.then(later.parentheses))


_WHOLE = _Shape()


class _Branch:
    def __init__(self, head: re.Match[bytes]) -> None:
        self.head = head
        self.end = -1
        self.shape = _WHOLE


class _Splits:
    """The conditions of a text, and what to change where they split something."""

    def __init__(self, text: bytes, language: str) -> None:
        self._text = text
        self._truths = {b"0": False, b"1": True, b"__cplusplus": language == "cpp"}
        self._blank: list[tuple[int, int]] = []
        self._soften: list[_Brackets] = []
        self._ends: list[int] = []  # blanked places where a statement ends

    def mended(self, directives: list[re.Match[bytes]]) -> bytes:
        """Return the text in which every branch that is left matches its brackets."""
        open_groups: list[list[_Branch]] = []
        at = directives[0].end()
        for directive in directives:
            start, word = directive.start(), directive[1]
            if open_groups:
                branch = open_groups[-1][-1]
                branch.shape = branch.shape.then(self._shape_of(at, start))
                branch.end = start
                if branch.shape.size > _MOST_OPEN:
                    return self._text
            at = directive.end()
            if word.startswith(b"if"):
                open_groups.append([_Branch(directive)])
            elif not open_groups:
                continue
            elif word != b"endif":
                open_groups[-1].append(_Branch(directive))
            else:
                shape = self._decided(open_groups.pop(), directive)
                if open_groups:
                    outer = open_groups[-1][-1]
                    outer.shape = outer.shape.then(shape)
        return self._changed()

    def _shape_of(self, start: int, end: int) -> _Shape:
        text = self._text
        if not (
            _may_be_split(text, start, end, b"{", b"}")
            or _may_be_split(text, start, end, b"(", b")")
        ):
            return _WHOLE
        open_: dict[bytes, list[int]] = {b"{": [], b"(": []}
        closed: dict[bytes, list[int]] = {b"{": [], b"(": []}
        for token in _TOKEN.finditer(text, start, end):
            bracket = token[1]
            if bracket is None:
                continue
            if bracket in open_:
                open_[bracket].append(token.start())
                continue
            opener = b"{" if bracket == b"}" else b"("
            if open_[opener]:
                open_[opener].pop()
            else:
                closed[opener].append(token.start())
        return _Shape(
            *(_Brackets(tuple(closed[each]), tuple(open_[each])) for each in (b"{", b"("))
        )

    def _decided(self, branches: list[_Branch], last: re.Match[bytes]) -> _Shape:
        """Take one branch of a condition that splits something; return what it leaves open."""
        if all(branch.shape.is_whole for branch in branches):
            self._join(branches, last)
            return _WHOLE
        taken = self._taken(branches)
        self._blank += [branch.head.span() for branch in branches]
        self._blank.append(last.span())
        for branch in branches:
            if branch is taken:
                continue
            if branch.shape.parentheses:
                self._blank.append((branch.head.end(), branch.end))
            elif branch.shape.braces:
                if b"__cplusplus" in branch.head[2]:
                    self._blank.append((branch.head.end(), branch.end))
                else:
                    self._soften.append(branch.shape.braces)
        return taken.shape if taken else _WHOLE

    def _join(self, branches: list[_Branch], last: re.Match[bytes]) -> None:
        """Blank a condition whose branches are parts of a statement, and all but one of these."""
        text = self._text
        if last.start() - branches[0].head.end() > _LONGEST_PART:
            return
        ends = [self._end_of(branch.head.end(), branch.end) for branch in branches]
        is_head = _BEHIND.match(text, last.end()) is not None
        heads = [
            end.endswith(b")") and (is_head or _IS_HEAD.search(end) is not None) for end in ends
        ]
        before = self._end_of(0, branches[0].head.start())
        if not (
            any(heads)
            or before.endswith(b"(")
            or any(map(_IS_OPEN.search, (before, *ends)))
            or any(_GOES_ON.match(text, branch.head.end(), branch.end) for branch in branches)
        ):
            return
        self._blank += [branch.head.span() for branch in branches]
        self._blank.append(last.span())
        if all(end.endswith(b",") or not end for end in ends):
            return
        for branch, following, is_one in zip(branches, branches[1:], heads, strict=False):
            if is_one:
                self._ends.append(following.head.start() + 1)
            else:
                self._blank.append((branch.head.end(), branch.end))

    def _end_of(self, start: int, end: int) -> bytes:
        """Return the end of the code in a piece of text; nothing where it is a directive."""
        tail = self._text[max(start, end - _LONGEST_TAIL) : end].rstrip()
        while tail.endswith(b"*/") and b"/*" in tail:
            tail = tail[: tail.rfind(b"/*")].rstrip()
        first = len(tail)
        while True:
            first = tail.rfind(b"\n", 0, first)
            if first <= 0 or not tail[:first].rstrip(b"\r").endswith(b"\\"):
                break
        line = tail[first + 1 :]
        if line.lstrip().startswith(b"#"):
            return b""
        comment = line.find(b"//")
        return tail[: first + 1 + comment].rstrip() if comment >= 0 else tail

    def _taken(self, branches: list[_Branch]) -> _Branch | None:
        """Return the branch to take, by earlier decisions and else the last that splits."""
        said = [_condition_of(branch.head) for branch in branches]
        possible: list[_Branch] = []
        for branch, (name, wanted) in zip(branches, said, strict=True):
            known = self._truths.get(name) if name else True
            if known is None:
                possible.append(branch)
            elif known is wanted:
                possible.append(branch)
                break
        taken = next((each for each in reversed(possible) if not each.shape.is_whole), None)
        if taken is None:
            taken = possible[-1] if possible else None
        for branch, (name, wanted) in zip(branches, said, strict=True):
            if name:
                self._truths.setdefault(name, wanted if branch is taken else not wanted)
            if branch is taken:
                break
        return taken

    def _changed(self) -> bytes:
        if not self._blank:
            return self._text
        changed = bytearray(self._text)
        for braces in self._soften:
            for at in (*braces.closing, *braces.opening):
                changed[at] = ord(";")
            for at in braces.closing:
                if found := _ELSE.match(self._text, at + 1):
                    changed[at + 1 : found.end()] = _blanked(found.group())
            for at in braces.opening:
                if found := _BEFORE_BLOCK.search(self._text, max(0, at - _LONGEST_WORD), at):
                    changed[found.start() : at] = _blanked(found.group())
        for start, end in self._blank:
            changed[start:end] = _blanked(self._text[start:end])
        for at in self._ends:
            changed[at] = ord(";")
        return bytes(changed)


def without_splits(text: bytes, language: str) -> bytes:
    """Return a text of C or C++ in which no condition splits a statement or a definition."""
    if b"#" not in text:
        return text
    text = b"\n" + text  # a directive may stand in the first line
    directives = list(_DIRECTIVE.finditer(text))
    if 0 < len(directives) <= _MOST_DIRECTIVES:
        text = _Splits(text, language).mended(directives)
    return text[1:]


def _may_be_split(text: bytes, start: int, end: int, opener: bytes, closer: bytes) -> bool:
    count = text.count(closer, start, end)
    if count != text.count(opener, start, end):
        return True
    return count > 0 and text.find(closer, start, end) < text.find(opener, start, end)


def _condition_of(directive: re.Match[bytes]) -> tuple[bytes, bool]:
    """Return what a condition asks for and the answer that it wants; nothing for ``#else``."""
    word, rest = directive[1], _BLANKS.sub(b"", _COMMENT.sub(b"", directive[2]))
    if word == b"else":
        return b"", True
    if word in {b"ifdef", b"ifndef"}:
        return rest, word == b"ifdef"
    if found := _NEGATED.fullmatch(rest):
        return found[1], False
    if found := _DEFINED.fullmatch(rest):
        return found[1], True
    return rest, True


def _blanked(text: bytes) -> bytes:
    return _NOT_BLANK.sub(b" ", text)
