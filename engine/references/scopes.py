"""Where a file gives a name another meaning: local variables and parameters, and their types.

A binding is found by the text around it, for each language by its way to declare. It holds from
there to the end of the block, or in the function of the parameter; in Python in the whole function.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.references.candidates import CALLABLES
from engine.store.references import SpanRow
from engine.syntax.references import Marks

_ECMASCRIPT = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"})
_BEFORE_BYTES = 200
_AFTER_BYTES = 120
_MOST_BINDINGS = 200  # of a name in a file
_BODY_BYTES = 400  # between the parameters and the body
_HEAD_BYTES = 4000  # of a function, with its parameters

_TYPE = rb"(?:[A-Za-z_][\w:]*(?:<[^<>;{}()]*>)?(?:\.\w+)*(?:\[\])*)"
#: No types, although a name follows them.
_NO_TYPE = (
    rb"(?!(?:return|else|goto|case|delete|throw|new|in|of|is|as|await|yield|typeof|sizeof|import"
    rb"|package|using|namespace|typedef|extends|implements|throws|define|ifdef|ifndef|undef"
    rb"|defined|struct|union|class|enum|interface|operator|and|or|not|do)\b)"
)
_QUALIFIERS = (
    rb"(?:(?:const|static|volatile|register|unsigned|signed|final|inline|constexpr|extern|mutable"
    rb"|struct|union|enum)\s+)*"
)
_DECLARATOR = rb"[*&\s]*\w+(?:\[[^\]]*\])*(?:\s*=\s*[^;,(){}]+)?,[*&\s]*"
#: A type that stands first in a statement or a list of parameters, and names that precede.
_TYPED = re.compile(
    rb"(?:^|[;{}(,:]|\n[ \t]*\n|#[^\n]*\n|\*/|//[^\n]*\n)\s*"
    + (_QUALIFIERS + _NO_TYPE + _TYPE)
    + rb"(?:\s+(?:const|volatile)\b)*(?:\s+[*&\s]*|[*&\s]*[*&]\s*)(?:const\s+)?(?:%s)*$"
    % _DECLARATOR
)
_AFTER_TYPED = re.compile(rb"\s*(?:\[[^\]]*\]\s*)*(?:[;,)={]|:[^:])(?!=)")

#: What stands before a name that a statement declares.
_DECLARED = {
    "ecmascript": re.compile(
        rb"\b(?:const|let|var)\s+(?:[{\[][^;=]*[{\[,:]\s*|[{\[]\s*)?(?:\.\.\.)?$"
    ),
    "go": re.compile(rb"\b(?:var|const)\s+(?:\w+\s*,\s*)*$"),
    "rust": re.compile(
        rb"\blet\s+(?:mut\s+)?(?:\(?[\w\s,]*,\s*)?(?:mut\s+)?$|\|(?:[^|;{}]*,\s*)?&?$"
    ),
    "other": re.compile(rb"\b(?:let|var|val|local)\s+(?:[\w\s,]*,\s*)?$"),
}
#: With one of these, what ``_DECLARED`` matches ends; it may be empty at the start of a text.
_BEFORE_DECLARED = frozenset(bytes([byte]) for byte in b" \t\n\r\f\v{[,:.|&")
#: What stands behind a name that an assignment declares.
_ASSIGNED = {
    "go": re.compile(rb"\s*(?:,\s*\w+\s*)*:="),
    "python": re.compile(rb"\s*(?:,[\w\s,()*]*)?(?:\s+=(?!=)|:[^=\n]+=(?!=)|\s*:=)"),
    "ruby": re.compile(rb"\s*(?:,[\w\s,*]*)?(?:\|\|)?=(?![=~>])"),
}
#: A name at which a list of parameters can go on, and what can follow it.
_PARAMETER_BEFORE = {
    "ecmascript": re.compile(
        rb"(?:[(,{\[]|\.\.\.)\s*(?:(?:public|private|protected|readonly)\s+)*$"
    ),
    "go": re.compile(rb"[(,]\s*$"),
    "rust": re.compile(rb"[(,]\s*(?:mut\s+)?$"),
    "other": re.compile(rb"[(,]\s*(?:\w+\s+)?$"),
}
_PARAMETER_AFTER = {
    "ecmascript": re.compile(rb"\s*\??\s*[,:)=}\]]"),
    "go": re.compile(rb"\s*(?:,|\s[*\[\]\w.(]|\s*\.\.\.)"),
    "rust": re.compile(rb"\s*:[^:]"),
    "other": re.compile(rb"\s*:"),
}
_CONTROL = re.compile(rb"\b(?:if|while|switch|for|with|return|match|catch)\s*$")
_LOOP = re.compile(rb"\b(?:for|catch)\s*(?:await\s*)?$")
_INITIAL = re.compile(rb"\s*:?=(?!=)")
#: Between the parameters and the body.
_TO_BODY = re.compile(
    rb"\s*(?::\s*[^;{}=]{0,200}?|->\s*[^;{}]{0,120}?|const|noexcept|override|throws\s[\w\s,.]*"
    rb"|where\s[^{};]*)?\s*(=>\s*\{?|\{)"
)
_TO_BODY_OF_GO = re.compile(rb"\s*[\w.*\[\]\s(),]{0,200}?\{")
_FUNC = re.compile(rb"\bfunc\b[^{}\n]*$")
_BLOCK = re.compile(rb"\s*\{")
_NAME = re.compile(rb"[\w$\x80-\xff]+")
_ARROW = re.compile(rb"\s*=>\s*(\{)?")
_FOR = re.compile(rb"\bfor\s+(?:\(?[\w\s,()*]*,\s*)?\(?\*?$")
_IN = re.compile(rb"[\w\s,()*]*\bin\b")
_AS = re.compile(rb"\b(?:with|except|case)\b.*\bas\s+\(?$")
_LINE_START = re.compile(rb"^[ \t]*(?:[\w\s,(*]*,\s*)?\(?\*?$")
_BRACKET = re.compile(rb"[()\[\]{}]")
_CLOSING = {ord(")"): ord("("), ord("]"): ord("["), ord("}"): ord("{")}
#: Of each byte: 1 if it opens, -1 if it closes, and what closes it.
_STEPS = np.zeros(256, np.int8)
_STEPS[[*_CLOSING.values()]] = 1
_STEPS[[*_CLOSING]] = -1
_IS_BRACKET = bytes(byte in b"()[]{}" for byte in range(256))
_OTHERS = np.zeros(256, np.uint8)
_OTHERS[[*_CLOSING.values()]] = [*_CLOSING]
_PARAMETERS = re.compile(rb"[()\[\]{}]|[,:=]|[A-Za-z_]\w*")
#: Keys of literals and keyword arguments name a member or a parameter.
_KEY_BEFORE = re.compile(rb"[{,(]\s*$|//[^\n]*\n\s*$|\*/\s*$")
_KEY_AFTER = re.compile(rb"\s*:(?![:=])")
_KEYWORD_AFTER = re.compile(rb"\s?=(?!=)")
#: Here the type stands before the name.
_TYPED_FIRST = frozenset({"c", "cpp", "java", "csharp", "objective-c", "groovy"})
_WITH_KEYS = _ECMASCRIPT | {"go"}


class Code(Protocol):
    """A text with its marks and symbols."""

    language: str
    text: bytes

    @property
    def marks(self) -> Marks:
        """The marks of its references."""

    @property
    def brackets(self) -> "Brackets":
        """The pairs of its brackets."""

    def enclosing(self, offset: int) -> SpanRow | None:
        """Return the innermost symbol around an offset."""


class Binding(NamedTuple):
    """A name that is declared locally."""

    offset: int  # of the name
    start: int  # of the stretch in which it holds
    end: int


class Brackets:
    """The pairs of brackets of a text, without those in comments and literals.

    Args:
        text: The text.
        marks: Of the text.
    """

    def __init__(self, text: bytes, marks: Marks) -> None:
        self.opens, self.ends, self.parents = _paired(text, marks) or _closed(text, marks)

    def around(self, offset: int) -> int:
        """Return the place of the innermost pair around an offset, or -1."""
        place = bisect_right(self.opens, offset - 1) - 1
        while place >= 0 and self.ends[place] < offset:
            place = self.parents[place]
        return place

    def stretch(self, place: int, size: int) -> tuple[int, int]:
        """Return the stretch of a pair; of -1 that of the text."""
        return (self.opens[place], self.ends[place]) if place >= 0 else (0, size)


#: Where brackets open, where these are closed, and the places of those around them. Arrays take a
#: tenth of the memory of lists: they are kept for later questions.
_Pairs = tuple["array[int]", "array[int]", "array[int]"]


def _paired(text: bytes, marks: Marks) -> _Pairs | None:
    """Return the brackets of a text if each has its own other one, as nearly always."""
    chars = np.frombuffer(text, np.uint8)
    at = np.frombuffer(text.translate(_IS_BRACKET), np.bool_).nonzero()[0]
    starts, stops = (np.frombuffer(bounds, np.uint32) for bounds in marks.text_bounds())
    last = np.maximum.accumulate(np.append(np.uint32(0), stops))  # of those before each
    at = at[last[np.searchsorted(starts, at, "right")] <= at]
    steps = _STEPS[chars[at]]
    depths = np.cumsum(steps, dtype=np.int64)
    if at.size and (depths[-1] or depths.min() < 0):
        return None
    levels = depths + (steps < 0)
    order = np.argsort(levels, kind="stable")  # in each level one that opens, one that closes, ...
    opening, closing = order[::2], order[1::2]
    if (_OTHERS[chars[at[opening]]] != chars[at[closing]]).any():
        return None
    number = np.cumsum(steps > 0) - 1
    ends = np.empty(opening.size, np.int64)
    ends[number[opening]] = at[closing]
    # The one around a bracket is the last one before it that opens a level higher.
    size = at.size + 1
    level = levels[opening]
    around = np.searchsorted(level * size + opening, (level - 1) * size + opening) - 1
    parents = np.empty(opening.size, np.int64)
    parents[number[opening]] = np.where(level > 1, number[opening[around]], -1)
    return _packed(at[steps > 0]), _packed(ends), _packed(parents)


def _packed(numbers: NDArray[np.int64]) -> "array[int]":
    return array("q", numbers.astype(np.int64).tobytes())


def _closed(text: bytes, marks: Marks) -> _Pairs:
    """Return the brackets of a text in which some lack the other one, or have a wrong one."""
    opens: list[int] = []
    ends: list[int] = []
    parents: list[int] = []
    stack: list[int] = []
    size = len(text)
    for start, end in _outside(marks.texts(), size):
        for match in _BRACKET.finditer(text, start, end):
            at = match.start()
            wanted = _CLOSING.get(text[at])
            if wanted is None:
                parents.append(stack[-1] if stack else -1)
                stack.append(len(opens))
                opens.append(at)
                ends.append(size)
                continue
            while stack:  # conditions of the preprocessor can leave some open
                place = stack.pop()
                ends[place] = at
                if text[opens[place]] == wanted:
                    break
    return array("q", opens), array("q", ends), array("q", parents)


def _outside(stretches: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """Yield what lies between some stretches of a text, which are in order of their starts."""
    at = 0
    for start, end in stretches:
        if start > at:
            yield at, start
        at = max(at, end)
    yield at, size


class Scopes:
    """The local bindings of one file."""

    def __init__(self, source: Code) -> None:
        self._source = source
        self._bindings: dict[bytes, list[Binding]] = {}
        language = source.language
        self._way = "ecmascript" if language in _ECMASCRIPT else language
        self._parameters: dict[int, dict[bytes, int]] = {}

    @property
    def brackets(self) -> Brackets:
        """The pairs of brackets of the file."""
        return self._source.brackets

    def block_of(self, offset: int) -> tuple[int, int]:
        """Return the innermost stretch in braces around an offset."""
        brackets, text = self.brackets, self._source.text
        place = brackets.around(offset)
        while place >= 0 and text[brackets.opens[place]] != ord("{"):
            place = brackets.parents[place]
        return brackets.stretch(place, len(text))

    def local_at(self, name: bytes, offset: int, offsets: Sequence[int]) -> Binding | None:
        """Return the innermost local binding of a name that holds at an offset.

        Args:
            name: The name.
            offset: Where it is used.
            offsets: Where the name stands in the file.
        """
        if name not in self._bindings:
            self._bindings[name] = list(self._find(name, offsets))
        best: Binding | None = None
        for each in self._bindings[name]:
            holds = each.start <= offset < each.end
            if holds and (best is None or each.end - each.start <= best.end - best.start):
                if best and each.start == best.start and each.offset > offset >= best.offset:
                    continue  # declared anew further on
                best = each
        return best

    def is_key(self, name: bytes, offset: int) -> bool:
        """Return whether a name is the key of a literal or a keyword argument."""
        text = self._source.text
        end = offset + len(name)
        if self._way == "python":
            if not _KEYWORD_AFTER.match(text, end):
                return False
            place = self.brackets.around(offset)
            return place >= 0 and text[self.brackets.opens[place]] == ord("(")
        return (
            self._source.language in _WITH_KEYS
            and _KEY_AFTER.match(text, end) is not None
            and _KEY_BEFORE.search(text, max(0, offset - _BEFORE_BYTES), offset) is not None
        )

    def _find(self, name: bytes, offsets: Sequence[int]) -> Iterator[Binding]:
        role_at = self._source.marks.role_at
        for offset in offsets[:_MOST_BINDINGS]:
            if role_at(offset) is not None:
                continue
            before = self._source.text[max(0, offset - _BEFORE_BYTES) : offset]
            if before[-1:] in {b".", b"@", b"$"} or before[-2:] in {b"->", b"::"}:
                continue
            found = (
                self._of_python(name, offset, before)
                if self._way in {"python", "ruby"}
                else self._of_braces(name, offset, before)
            )
            if found:
                yield found

    def _of_python(self, name: bytes, offset: int, before: bytes) -> Binding | None:
        source = self._source
        around = source.enclosing(offset)
        text, end = source.text, offset + len(name)
        while around and around.kind not in CALLABLES:
            if around.byte_start != offset:
                return None  # of a class
            around = source.enclosing(around.byte_start - 1)
        stretch = (around.byte_start, around.byte_end) if around else (0, len(text))
        parameters = self._parameters_of(around) if around else {}
        if name in parameters:
            return Binding(parameters[name], *stretch)
        line = before.rpartition(b"\n")[2]
        is_bound = (
            (_LINE_START.match(line) and _ASSIGNED[self._way].match(text, end, end + _AFTER_BYTES))
            or (_FOR.search(line) and _IN.match(text, end, end + _AFTER_BYTES))
            or _AS.search(line)
        )
        return Binding(offset, *stretch) if is_bound else None

    def _parameters_of(self, span: SpanRow) -> dict[bytes, int]:
        """Return where the parameters of a Python function stand."""
        if span.id not in self._parameters:
            self._parameters[span.id] = dict(self._read_parameters(span.byte_start))
        return self._parameters[span.id]

    def _read_parameters(self, start: int) -> Iterator[tuple[bytes, int]]:
        text = self._source.text
        at = text.find(b"def ", start, start + _HEAD_BYTES)
        at = text.find(b"(", at, at + _HEAD_BYTES) if at >= 0 else -1
        if at < 0:
            return
        depth, is_next = 0, True
        for match in _PARAMETERS.finditer(text, at, at + _HEAD_BYTES):
            word = match[0]
            if word in b"([{":
                depth += 1
            elif word in b")]}":
                depth -= 1
                if not depth:
                    return
            elif depth == 1:
                if word == b",":
                    is_next = True
                elif is_next and word not in b":=":
                    yield word, match.start()
                    is_next = False

    def _of_braces(self, name: bytes, offset: int, before: bytes) -> Binding | None:
        text, end = self._source.text, offset + len(name)
        way = self._way
        if way in _TYPED_FIRST:
            # What follows is sooner looked at.
            if _AFTER_TYPED.match(text, end) and _TYPED.search(before):
                return self._stretch_of(offset, is_bound=True, is_typed=True)
            if way in {"java", "csharp"} and _ARROW.match(text, end):
                return self._to_end_of_arrow(offset, end)
            return None
        known = way if way in _DECLARED else "other"
        assigned = _ASSIGNED.get(way)
        may_declare = before[-1:] in _BEFORE_DECLARED
        if (may_declare and _DECLARED[known].search(before)) or (
            assigned and assigned.match(text, end, end + _AFTER_BYTES)
        ):
            return self._stretch_of(offset, is_bound=True, is_typed=False)
        if _PARAMETER_AFTER[known].match(text, end) and _PARAMETER_BEFORE[known].search(before):
            return self._stretch_of(offset, is_bound=False, is_typed=False)
        if way == "ecmascript" and _ARROW.match(text, end):
            return self._to_end_of_arrow(offset, end)
        return None

    def _to_end_of_arrow(self, offset: int, end: int) -> Binding:
        """Return a parameter of ``name => …``."""
        brackets, text = self.brackets, self._source.text
        arrow = _ARROW.match(text, end)
        place = brackets.around(arrow.end() if arrow and arrow[1] else offset)
        return Binding(offset, offset, brackets.stretch(place, len(text))[1])

    def _stretch_of(self, offset: int, *, is_bound: bool, is_typed: bool) -> Binding | None:
        """Return the binding of a declared name: in its block, or in the body that follows."""
        brackets, text = self.brackets, self._source.text
        place = brackets.around(offset)
        outer = place
        while outer >= 0 and text[brackets.opens[outer]] != ord("("):
            if is_typed or (is_bound and text[brackets.opens[outer]] == ord("{")):
                break
            outer = brackets.parents[outer]
        if outer < 0 or text[brackets.opens[outer]] != ord("("):
            if not is_bound:
                return None
            return Binding(offset, *self._declared_in(offset, place))
        start, close = brackets.opens[outer], brackets.ends[outer]
        head = text[max(0, start - 40) : start]
        body = self._body_of(start, close, is_bound=is_bound)
        if _CONTROL.search(head):
            has_value = _INITIAL.match(text, _end_of_name(text, offset))
            if not (is_bound and (has_value or _LOOP.search(head))):
                return None
            body = _BLOCK.match(text, close + 1)
            if body is None:
                line_end = text.find(b"\n", text.find(b";", close))
                return Binding(offset, start, line_end if line_end >= 0 else len(text))
        if body is None:
            return self._without_body(offset, start, close) if is_bound or is_typed else None
        if text[body.end() - 1] == ord("{"):
            inner = brackets.around(body.end())
            return Binding(offset, start, brackets.stretch(inner, len(text))[1])
        around = brackets.stretch(brackets.parents[outer], len(text))
        return Binding(offset, start, around[1])

    def _body_of(self, start: int, close: int, *, is_bound: bool) -> re.Match[bytes] | None:
        """Return the head of the body behind parentheses, if these can be of a function."""
        text = self._source.text
        if self._way != "go" or is_bound:
            return _TO_BODY.match(text, close + 1, close + _BODY_BYTES)
        if not _FUNC.search(text, max(0, start - _BEFORE_BYTES), start):
            return None
        return _TO_BODY_OF_GO.match(text, close + 1, close + _BODY_BYTES)

    def _declared_in(self, offset: int, place: int) -> tuple[int, int]:
        """Return the block of a declaration, within the function around it."""
        brackets, text = self.brackets, self._source.text
        while place >= 0 and text[brackets.opens[place]] != ord("{"):
            place = brackets.parents[place]
        # The braces of a pattern: const { name } = …
        if self._way == "ecmascript" and place >= 0:
            head = text[max(0, brackets.opens[place] - 10) : brackets.opens[place]]
            while place >= 0 and re.search(rb"(?:const|let|var|[:,{\[])\s*$", head):
                place = brackets.parents[place]
                head = text[max(0, brackets.opens[place] - 10) : brackets.opens[place]]
        start, end = brackets.stretch(place, len(text))
        around = self._source.enclosing(offset)
        if around and around.kind in CALLABLES:
            start, end = max(start, around.byte_start), min(end, around.byte_end)
        return start, end

    def _without_body(self, offset: int, start: int, close: int) -> Binding:
        """Return a parameter of a declaration, which holds in its parentheses."""
        return Binding(offset, start, close)


def _end_of_name(text: bytes, offset: int) -> int:
    found = _NAME.match(text, offset)
    return found.end() if found else offset
