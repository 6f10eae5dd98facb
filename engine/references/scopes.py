"""Where a file gives a name another meaning: local variables and parameters, and their types.

A binding is found by the text around it, for each language by its way to declare. It holds from
there to the end of the block, or in the function of the parameter; in Python in the whole function.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from engine.references.brackets import Brackets
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
# No two parts of it can match the same blanks, else a long list would take for ever.
_DECLARATOR = rb"\w+(?:\[[^\]]*\])*(?:\s*=[^;,(){}]+)?,[*&\s]*"
#: A type that stands first in a statement or a list of parameters, and names that precede.
_TYPED = re.compile(
    rb"(?:^|[;{}(,:]|\n[ \t]*\n|#[^\n]*\n|\*/|//[^\n]*\n)\s*"
    + (_QUALIFIERS + _NO_TYPE + _TYPE)
    + rb"(?:\s+(?:const|volatile)\b)*(?:\s+[*&\s]*|[*&\s]*[*&]\s*)(?:const\s+[*&\s]*)?(?:%s)*$"
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
_PARAMETERS = re.compile(rb"[()\[\]{}]|[,:=]|[A-Za-z_]\w*")
#: Keys of literals and keyword arguments name a member or a parameter.
_KEY_BEFORE = re.compile(rb"[{,(]\s*$|//[^\n]*\n\s*$|\*/\s*$")
_KEY_AFTER = re.compile(rb"\s*:(?![:=])")
_KEYWORD_AFTER = re.compile(rb"\s?=(?!=)")
#: In Go a type behind a name declares it: as formatted, no operator stands so.
_TYPE_AFTER_OF_GO = re.compile(rb"[ \t]+(?:[A-Za-z_\[]|\*+[\w\[(]|\.\.\.)")
#: What declares a name in a block of Rust, with its type behind a colon.
_STATEMENT_OF_RUST = re.compile(rb"\b(?:let|const|static|mut|ref)\s+$")
_STRUCT_BEFORE = re.compile(rb"\bstruct\s*$")
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
    def brackets(self) -> Brackets:
        """The pairs of its brackets."""

    def enclosing(self, offset: int) -> SpanRow | None:
        """Return the innermost symbol around an offset."""


class Binding(NamedTuple):
    """A name that is declared locally."""

    offset: int  # of the name
    start: int  # of the stretch in which it holds
    end: int


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
        """Return whether a name without a role is a key, a keyword argument or a field."""
        text = self._source.text
        end = offset + len(name)
        if self._way == "python":
            if not _KEYWORD_AFTER.match(text, end):
                return False
            place = self.brackets.around(offset)
            return place >= 0 and text[self.brackets.opens[place]] == ord("(")
        if self._way == "go" and self._is_field_of_go(offset, end):
            return True
        if self._way == "rust":
            return self._is_field_of_rust(offset, end)
        return (
            self._source.language in _WITH_KEYS
            and _KEY_AFTER.match(text, end) is not None
            and _KEY_BEFORE.search(text, max(0, offset - _BEFORE_BYTES), offset) is not None
        )

    def _is_field_of_go(self, offset: int, end: int) -> bool:
        """Return whether a type stands behind a name, or ``struct { … }`` around it."""
        brackets, text = self.brackets, self._source.text
        if _TYPE_AFTER_OF_GO.match(text, end):
            return True
        place = brackets.around(offset)
        start = brackets.opens[place] if place >= 0 else 0
        return place >= 0 and _STRUCT_BEFORE.search(text, max(0, start - 20), start) is not None

    def _is_field_of_rust(self, offset: int, end: int) -> bool:
        """Return whether a name stands before a colon in a struct, or in a literal of one."""
        brackets, text = self.brackets, self._source.text
        if not _KEY_AFTER.match(text, end) or text[offset : offset + 1].isupper():
            return False
        place = brackets.around(offset)
        is_in_braces = place >= 0 and text[brackets.opens[place]] == ord("{")
        before = text[max(0, offset - 40) : offset]
        return is_in_braces and _STATEMENT_OF_RUST.search(before) is None

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
                if offset < found.start:  # a pattern stands before the block in which it holds
                    yield Binding(offset, offset, offset + len(name))

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
        if way == "rust" and (found := self._of_rust_pattern(offset, end)):
            return found
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

    def _of_rust_pattern(self, offset: int, end: int) -> Binding | None:
        from engine.references.rust_patterns import binding_of  # for Rust alone

        found = binding_of(self.brackets, self._source.text, offset, end)
        if found is None:
            return None
        start, last = found
        if start is None:
            return Binding(offset, *self._declared_in(offset, self.brackets.around(offset)))
        return Binding(offset, start, last)

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
