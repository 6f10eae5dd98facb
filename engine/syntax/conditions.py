"""Make C and C++ readable where conditions of the preprocessor split a statement or a definition.

Grammars read each branch of ``#if … #else … #endif`` by itself, so none may open or close more
brackets than it has. Where one does, as ``if(a) {`` in one branch and ``if(!a) {`` in the other,
the rest of the file can be lost. There, one branch is taken as the compiler would take it, and the
lines of the condition are blanked. Of the other branches an unmatched brace becomes a semicolon, so
that what they use and declare is still found. Branches with an unmatched parenthesis and those that
are a part of an expression or of a list are left out: what only they use is not found.

The same condition is decided in the same way throughout a text, so what is opened is closed too.
Lengths and lines stay the same.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.syntax.preprocess import Deadline, DeadlineReached

_BLOCK_COMMENT = rb"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_STRING = rb"\"(?:[^\"\\\n]++|\\(?:\r\n|.)?)*+\"?"  # an unclosed one ends with its line
_CHARACTER = rb"'(?:[^'\\\n]++|\\(?:\r\n|.)?)*+'?"
#: What a text consists of where it matters: comments, strings, directives (``#`` in group 1, their
#: word if they are conditions, the rest), how raw strings begin, and brackets. A quote between
#: digits separates these. Each alternative begins with a literal and none is tried again: the time
#: is proportional to the length, whatever the text.
_TOKEN = re.compile(
    rb"//(?:[^\\\n]++|\\(?:\r?\n)?)*+|%(comment)b|%(string)b"
    rb"|'(?:(?<![0-9A-Fa-f]')|(?<=u8'))(?:[^'\\\n]++|\\(?:\r\n|.)?)*+'?"
    rb"|\n[ \t]*+(#)[ \t]*+(?:(if|ifdef|ifndef|elif|else|endif)\b)?"
    rb"((?:[^\\\n/\"']++|\\(?:\r?\n)?|%(comment)b|%(string)b|%(character)b|/)*+)"
    rb"|R\"([^()\\\s\"]{0,16}+)\(|([{}()])"
    % {b"comment": _BLOCK_COMMENT, b"string": _STRING, b"character": _CHARACTER},
    re.DOTALL,
)
_RAW_PREFIX = re.compile(rb"(?<![A-Za-z0-9_])(?:u8|[uUL])?\Z")
_COMMENT = re.compile(rb"/\*.*?(?:\*/|$)|//.*", re.DOTALL)
_BLANKS = re.compile(rb"\s+|\\")
_NEGATED = re.compile(rb"!\(?(?:defined\(?)?(\w+)\)*")
_DEFINED = re.compile(rb"(?:defined)?\(?(\w+)\)?")
_TO_BLANKS = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))
_ELSE = re.compile(rb"\s*else\b")
_BEFORE_BLOCK = re.compile(rb"\b(?:else|do)\s*$")
#: How a branch begins and ends that is a part of an expression, of a list or of ``if … else``.
_GOES_ON = re.compile(rb"\s*+(?:&&|\|\|?|[=!]=|[?,]|:(?!:)|\"|(else\b))")
_IS_OPEN = re.compile(rb"(?:[=|&?,!]|(?<!\+)\+|(?<!-)-|\b(?:else|return))$")
_IS_HEAD = re.compile(rb"\b(?:if|for|while)[ \t]*\([^;{}]*\)$")
_BEHIND = re.compile(rb"\s*\{")
_IN_STATEMENTS = re.compile(rb"[;{}]")
_OPENERS = (b"{", b"(")
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


class _Scanned:
    """The conditions of a text, what their parts leave open, and the text without comments."""

    def __init__(self, text: bytes, deadline: Deadline) -> None:
        #: In place of a directive there is only its ``#``.
        self.code = b""
        self.directives: list[re.Match[bytes]] = []
        #: Of what stands before each of them; whole outside conditions.
        self.shapes: list[_Shape] = []
        self._depth = 0
        self._open = _OpenShape()
        code = bytearray(text)
        for token in _tokens(text):
            start, end = token.span()
            if (bracket := token[5]) is not None:
                if self._depth:
                    self._open.add(bracket, start)
            elif token[1] is not None:
                code[start:end] = _blanked(text[start:end])
                code[token.start(1)] = ord("#")
                if token[2] is not None:
                    if deadline.has_passed():
                        raise DeadlineReached
                    self._add(token)
            elif text.startswith(b"/", start):
                code[start:end] = _blanked(text[start:end])
        self.code = bytes(code)

    def _add(self, directive: re.Match[bytes]) -> None:
        shape = self._open.unmatched()
        if shape is not _WHOLE:
            self._open = _OpenShape()
        self.directives.append(directive)
        self.shapes.append(shape)
        if directive[2].startswith(b"if"):
            self._depth += 1
        elif directive[2] == b"endif":
            self._depth = max(0, self._depth - 1)


class _OpenShape:
    def __init__(self) -> None:
        self._open: dict[bytes, list[int]] = {each: [] for each in _OPENERS}
        self._closed: dict[bytes, list[int]] = {each: [] for each in _OPENERS}

    def add(self, bracket: bytes, at: int) -> None:
        if bracket in self._open:
            self._open[bracket].append(at)
            return
        opener = b"{" if bracket == b"}" else b"("
        if self._open[opener]:
            self._open[opener].pop()
        else:
            self._closed[opener].append(at)

    def unmatched(self) -> _Shape:
        if not any((*self._open.values(), *self._closed.values())):
            return _WHOLE
        return _Shape(
            *(_Brackets(tuple(self._closed[each]), tuple(self._open[each])) for each in _OPENERS)
        )


def _tokens(text: bytes) -> Iterator[re.Match[bytes]]:
    """Find the tokens of a text, none of them within a raw string."""
    at: int | None = 0
    has_raw = True
    while at is not None:
        begin, at = at, None
        for token in _TOKEN.finditer(text, begin):
            if token[4] is None:
                yield token
                continue
            start = token.start()
            at = start + 1
            if has_raw and _RAW_PREFIX.search(text, max(0, start - 3), start):
                closer = b")" + token[4] + b'"'
                end = text.find(closer, token.end())
                has_raw = end >= 0  # one that is never closed is none, nor are those behind it
                if has_raw:
                    at = end + len(closer)
            break


class _Splits:
    """The conditions of a text, and what to change where they split something."""

    def __init__(self, text: bytes, language: str, deadline: Deadline) -> None:
        self._text = text
        self._deadline = deadline
        self._scanned = _Scanned(text, deadline)
        self._truths = {b"0": False, b"1": True, b"__cplusplus": language == "cpp"}
        self._blank: list[tuple[int, int]] = []
        self._soften: list[_Brackets] = []
        self._ends: list[int] = []  # blanked places where a statement ends

    def mended(self) -> bytes:
        """Return the text in which every branch that is left matches its brackets."""
        directives = self._scanned.directives
        if len(directives) > _MOST_DIRECTIVES:
            return self._text
        open_groups: list[list[_Branch]] = []
        for directive, before in zip(directives, self._scanned.shapes, strict=True):
            if self._deadline.has_passed():
                raise DeadlineReached
            word = directive[2]
            if open_groups:
                branch = open_groups[-1][-1]
                branch.shape = branch.shape.then(before)
                branch.end = directive.start()
                if branch.shape.size > _MOST_OPEN:
                    return self._text
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
                if b"__cplusplus" in branch.head[3]:
                    self._blank.append((branch.head.end(), branch.end))
                else:
                    self._soften.append(branch.shape.braces)
        return taken.shape if taken else _WHOLE

    def _join(self, branches: list[_Branch], last: re.Match[bytes]) -> None:
        """Blank a condition whose branches are parts of a statement, and all but one of these."""
        code = self._scanned.code
        if last.start() - branches[0].head.end() > _LONGEST_PART:
            return
        ends = [self._end_of(branch.head.end(), branch.end) for branch in branches]
        is_head = _BEHIND.match(code, last.end()) is not None
        heads = [
            end.endswith(b")") and (is_head or _IS_HEAD.search(end) is not None) for end in ends
        ]
        before = self._end_of(0, branches[0].head.start())
        goes_on = [_GOES_ON.match(code, branch.head.end(), branch.end) for branch in branches]
        if not (
            any(heads)
            or before.endswith(b"(")
            or any(map(_IS_OPEN.search, (before, *ends)))
            or any(goes_on)
        ):
            return
        self._blank += [branch.head.span() for branch in branches]
        self._blank.append(last.span())
        if all(end.endswith(b",") or not end for end in ends):
            return
        for at, branch in enumerate(branches[:-1]):
            if heads[at]:
                self._ends.append(branches[at + 1].head.start() + 1)
            elif not ends[at].endswith((b";", b"}")) or (
                goes_on[at + 1] and self._is_part(branch, goes_on[at])
            ):
                self._blank.append((branch.head.end(), branch.end))

    def _is_part(self, branch: _Branch, beginning: re.Match[bytes] | None) -> bool:
        """Return whether a branch that ends a statement holds nothing but the end of this one."""
        if beginning is None:
            return False
        code = self._scanned.code[branch.head.end() : branch.end].rstrip()
        return beginning[1] is not None or not _IN_STATEMENTS.search(code, 0, len(code) - 1)

    def _end_of(self, start: int, end: int) -> bytes:
        """Return the end of the code in a piece of text; nothing where it is a directive."""
        tail = self._scanned.code[max(start, end - _LONGEST_TAIL) : end].rstrip()
        return b"" if tail.endswith(b"#") else tail

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
        self._soften_in(changed)
        done = 0
        for start, end in sorted(self._blank):  # one can lie in another
            first = max(start, done)
            changed[first:end] = _blanked(self._text[first:end])
            done = max(done, end)
        for at in self._ends:
            changed[at] = ord(";")
        return bytes(changed)

    def _soften_in(self, changed: bytearray) -> None:
        for braces in self._soften:
            for at in (*braces.closing, *braces.opening):
                changed[at] = ord(";")
            for at in braces.closing:
                if found := _ELSE.match(self._text, at + 1):
                    changed[at + 1 : found.end()] = _blanked(found.group())
            for at in braces.opening:
                if found := _BEFORE_BLOCK.search(self._text, max(0, at - _LONGEST_WORD), at):
                    changed[found.start() : at] = _blanked(found.group())


def without_splits(text: bytes, language: str, deadline: Deadline) -> bytes:
    """Return a text of C or C++ in which no condition splits a statement or a definition.

    Raises:
        DeadlineReached: The deadline has passed.
    """
    if b"#" not in text or b"endif" not in text:
        return text
    # a directive may stand in the first line
    return _Splits(b"\n" + text, language, deadline).mended()[1:]


def _condition_of(directive: re.Match[bytes]) -> tuple[bytes, bool]:
    """Return what a condition asks for and the answer that it wants; nothing for ``#else``."""
    word, rest = directive[2], _BLANKS.sub(b"", _COMMENT.sub(b"", directive[3]))
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
    return text.translate(_TO_BLANKS)
