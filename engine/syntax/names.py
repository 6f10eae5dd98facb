"""What a definition is called and how its first line reads: plain names and signatures."""

import re

from engine.syntax.captures import FILE_SCOPE, SCOPE, Definition
from engine.syntax.language_table import CommentStyle, Language

MAX_SIGNATURE = 300  # characters

#: Definitions that are shown by their line, not up to a body.
ONE_LINE_KINDS = frozenset({"variable", "constant", "property", "field"})

_WHOLE_NAMES = frozenset({SCOPE, FILE_SCOPE, "namespace", "module"})  # a.b stays one name
_BLANKS = " \t\r\n"
_QUOTES = ('"', "'", "`")
_HAS_WORD = re.compile(r"\w")
_SEPARATORS = re.compile(r"::|\\|->|[.:](?!:)")
_MODULE_OBJECT = re.compile(r"^(?:module\.exports|exports|this|self)(?:\.|$)|\.prototype\b")
_OPERATOR = re.compile(r"\b(operator(?:\(\)|[^\w(]+|\s*[^(]*))(?:\(.*)?$", re.DOTALL)
_TYPE_ARGUMENTS = re.compile(r"<[^<>]*>")

_ANNOTATION_STARTS = {
    "csharp": "[",
    "java": "@",
    "kotlin": "@",
    "php": "#",
    "scala": "@",
    "swift": "@",
    "tsx": "@",
    "typescript": "@",
}
_ARGUMENTS = r"\([^()]*\)"
for _ in range(4):  # calls in calls
    _ARGUMENTS = rf"\([^()]*(?:{_ARGUMENTS}[^()]*)*\)"
_LEADING_ANNOTATIONS = re.compile(
    r"^(?:(?:@(?!interface\b)[\w.:]+(?: ?" + _ARGUMENTS + r")?|"
    r"#?\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])\s*)+"
)
_BLOCK_COMMENT = re.compile(rb"/\*.*?(?:\*/|$)", re.DOTALL)
#: To the end of the line; the mark stands alone, so that "#{" and "://" are none.
_LINE_COMMENTS = {
    b"#": re.compile(rb"(?:^|(?<=\s))#+(?=\s|!|$)[^\n]*", re.MULTILINE),
    b"//": re.compile(rb"(?:^|(?<=\s))//+(?=\s|!|$)[^\n]*", re.MULTILINE),
    b"--": re.compile(rb"(?:^|(?<=\s))--+(?=\s|$)[^\n]*", re.MULTILINE),
}

_TAILS = ("=>", "->", " do", " where")
_TAIL_CHARACTERS = " {;=:,\\"
_ENDS = frozenset({"ruby", "lua", "elixir", "julia"})
_END = re.compile(r";?\s*\bend$")


def plain_name(definition: Definition) -> tuple[str, str]:
    """Give the name of a definition and its receiver, with dots and without type arguments.

    ``a::b<T>::c`` is ``c`` with the receiver ``a.b``; operators keep their signs.
    """
    name, receiver = definition.name, definition.receiver
    if definition.kind == SCOPE:
        name = _MODULE_OBJECT.sub("", name)
    if definition.kind == "instance" and " " in name:
        return " ".join(name.split()), ""
    if not name.isidentifier() and _HAS_WORD.search(name):
        name, receiver = _split_name(name, receiver, is_whole=definition.kind in _WHOLE_NAMES)
    if receiver:
        receiver = _without_type_arguments(_MODULE_OBJECT.sub("", receiver))
        receiver = ".".join(filter(None, map(str.strip, _SEPARATORS.split(receiver))))
    return name, receiver


def _split_name(name: str, receiver: str, *, is_whole: bool) -> tuple[str, str]:
    name = name.strip(_BLANKS)
    if name.startswith("["):
        name = name.strip("[]" + _BLANKS)
    if name.startswith(_QUOTES):
        name = name.strip("".join(_QUOTES))
    name = _without_type_arguments(name)
    operator = _OPERATOR.search(name)
    if operator is not None:
        receiver = name[: operator.start()] or receiver
        name = operator.group(1)
    else:
        parts = list(filter(None, map(str.strip, _SEPARATORS.split(name))))
        if is_whole:
            name = ".".join(parts)
        elif parts:
            name = parts.pop()
            receiver = ".".join(parts) or receiver
    return " ".join(name.split()), receiver


def _without_type_arguments(name: str) -> str:
    while "<" in name:
        shorter = _TYPE_ARGUMENTS.sub("", name)
        if shorter == name:
            break
        name = shorter
    return name


def signature_of(text: bytes, definition: Definition, language: Language) -> str:
    """Give the definition up to its body as one line, without annotations and comments."""
    begin, end = definition.inner_start, definition.body_start
    if end < begin:
        end = definition.end
        if definition.kind in ONE_LINE_KINDS:
            newline = text.find(b"\n", definition.name_start, end)
            end = newline if newline >= 0 else end
    if end > begin + 4 * MAX_SIGNATURE:
        end = begin + 4 * MAX_SIGNATURE
    raw = without_comments(text[begin:end], language.comments)
    signature = " ".join(raw.decode("utf-8", "replace").split())
    mark = _ANNOTATION_STARTS.get(language.name)
    if mark is not None and signature.startswith(mark) and begin < definition.name_start:
        signature = _LEADING_ANNOTATIONS.sub("", signature, count=1)
    if definition.body_start < 0 and language.name in _ENDS:
        signature = _END.sub("", signature)
    signature = signature.rstrip(_TAIL_CHARACTERS)
    while signature.endswith(_TAILS):
        signature = signature[:-2] if signature[-1] == ">" else signature.rpartition(" ")[0]
        signature = signature.rstrip(_TAIL_CHARACTERS)
    if 0 <= definition.body_start < definition.name_start:  # typedef struct {…} name;
        signature += " " + definition.name
    if len(signature) > MAX_SIGNATURE:
        signature = signature[:MAX_SIGNATURE].rstrip()
    return signature


def without_comments(raw: bytes, style: CommentStyle) -> bytes:
    """Take the comments from the head of a definition, as far as their marks are plain."""
    if b"/*" in raw and b"*/" in style.closings:
        raw = _BLOCK_COMMENT.sub(b"", raw)
    for mark in style.line:
        if mark in raw and mark in _LINE_COMMENTS:
            raw = _LINE_COMMENTS[mark].sub(b"", raw)
    return raw
