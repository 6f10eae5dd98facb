"""The types that a text gives to its variables: annotated, constructed, declared, returned."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.references.import_statements import ECMASCRIPT
from engine.store.references import HeadRow

_WINDOW_BYTES = 160
_BEFORE_BYTES = 80
_MOST_TYPES = 20
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_GENERIC = re.compile(r"<[^<>]*>")

#: Behind a variable: ``name: Type``, ``name = new Type(``, ``name := &pkg.Type{``.
_BEHIND = re.compile(
    rb"\s*\??(?::|:?=)\s*(?:new\s+|await\s+|&|\*|\[\]|mut\s+|Optional\[|readonly\s+|typeof\s+"
    rb"|(?<=: )[\"'])*([A-Za-z_$][\w$]*(?:(?:\.|::)[\w$]+)*)(?:\s*[<\[][^<>\[\]\n=]*[>\]])?\s*(\(?)"
)
_BEHIND_OF_GO = re.compile(
    rb"(?:\s*,\s*\w+)*\s+(?:\.\.\.)?[*\[\]]*((?:\w+\.)?[A-Z]\w*|\w+\.[a-z]\w*)"
)
_BEHIND_LOCAL_OF_GO = re.compile(
    rb"(?:\s*,\s*\w+)*\s+(?:\.\.\.)?[*\[\]]*((?:\w+\.)?\w+)(?=\s*[,){\n=\[]|\s*`)"
)
_TUPLE_OF_GO = re.compile(rb"(?:\s*,\s*\w+)*\s*:?=\s*&?([\w.]+)\s*(\(?)")
#: Before a variable: ``Type name``, ``const Type* name``.
_BEFORE = re.compile(
    rb"([A-Za-z_]\w*(?:(?:::|\.)\w+)*)\s*(?:<[^<>\n]*>)?(?:\s+const)?[?\s*&]+(?:const\s+)?$"
)
_POINTED = re.compile(
    rb"(?:unique_ptr|shared_ptr|scoped_ptr|Optional|Box|Rc|Arc)\s*<\s*(?:const\s+)?"
    rb"([A-Za-z_]\w*(?:::\w+)*)[^<>\n]*>\s*&?\s*$"
)
_BETWEEN = frozenset({b" ", b"*", b"&", b"\t", b"\n", b"?"})  # a type and its variable
_NO_TYPES = frozenset(
    """auto const let var val new return await async self this null None true false True False
    if else for not in is and or lambda yield func function def static public private protected
    struct class enum union unsigned signed int long short char void float double bool size_t
    mut ref final export import from as case throw delete type typeof string number boolean any
    str bytes object unknown never error""".split()
)


class Type(NamedTuple):
    """A type that a text names, or a function whose result is of the type."""

    name: str
    qualifier: str  # before the last dot; empty if there is none
    is_called: bool = False
    path: str = ""  # of the file that names it, unless it is the one that asks


def types_in(text: bytes, offsets: Sequence[int], size: int, language: str) -> list[Type]:
    """Return the types that a text gives to a variable.

    Args:
        text: The text.
        offsets: Where the variable is declared or stands.
        size: Of its name.
        language: Of the text.
    """
    found: list[Type] = []
    for offset in offsets:
        for each in _types_at(text, offset, offset + size, language):
            if each not in found:
                found.append(each)
        if len(found) >= _MOST_TYPES:
            break
    return found


def results_of(row: HeadRow) -> list[Type]:
    """Return the types that a function returns by its signature; a type returns itself."""
    signature = row.signature
    if row.language == "go":
        behind = signature[_end_of_parameters(signature) :]
        words = re.findall(r"(?:(\w+)\.)?(\w+)", behind.strip(" ()").partition(",")[0])[-1:]
        return [Type(name, qualifier) for qualifier, name in words]
    if row.language in {"c", "cpp", "java", "csharp"}:
        head = signature.partition(f"{row.name}(")[0]
        before = _BEFORE.search(head.encode())
        return [_type_of(before[1], is_called=False)] if before else []
    found = re.search(
        r"\)\s*(?:->|:)\s*(?:Promise<|Optional\[|&|\*|mut\s+|[\"'])*([\w.$:]+)", signature
    )
    return [_type_of(found[1].encode(), is_called=False)] if found else []


def bases_in(row: HeadRow) -> list[str]:
    """Return the names in the head of a type, among which are those of its bases."""
    head = row.signature.partition(row.name)[2]
    if row.language in ECMASCRIPT:  # without type parameters, unless they are cut
        while (shorter := _GENERIC.sub("", head)) != head:
            head = shorter
        inherited = re.search(r"\b(?:extends|implements)\b", head)
        head = head[inherited.end() :] if inherited and "<" not in head else head
    words = _WORD.findall(head)
    return [word for word in words if word != row.name and word not in _NO_TYPES]


def _end_of_parameters(signature: str) -> int:
    """Return where the parameters of a function of Go end; a method has its receiver before."""
    depth, groups = 0, 2 if signature.startswith("func (") else 1
    for place, char in enumerate(signature):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if not depth:
                groups -= 1
                if not groups:
                    return place + 1
    return len(signature)


def _types_at(text: bytes, offset: int, end: int, language: str) -> Iterator[Type]:
    limit = end + _WINDOW_BYTES
    if behind := _BEHIND.match(text, end, limit):
        yield from _kept(behind[1], is_called=bool(behind[2]))
    if language == "go":
        for pattern in (_TUPLE_OF_GO, _BEHIND_LOCAL_OF_GO):
            if found := pattern.match(text, end, limit):
                is_called = pattern is _TUPLE_OF_GO and bool(found[2])
                yield from _kept(found[1], is_called=is_called)
        return
    start = max(0, offset - _BEFORE_BYTES)
    start = max(start, text.rfind(b"\n", start, offset - 1), text.rfind(b"(", start, offset))
    if text[offset - 1 : offset] not in _BETWEEN:
        return
    if pointed := _POINTED.search(text, start, offset):
        yield from _kept(pointed[1], is_called=False)
    elif before := _BEFORE.search(text, start, offset):
        yield from _kept(before[1], is_called=False)


def _kept(written: bytes, *, is_called: bool) -> Iterator[Type]:
    found = _type_of(written, is_called=is_called)
    if found.name not in _NO_TYPES:
        yield found


def _type_of(written: bytes, *, is_called: bool) -> Type:
    parts = written.decode("utf-8", "replace").replace("::", ".").split(".")
    return Type(parts[-1], parts[-2] if len(parts) > 1 else "", is_called)
