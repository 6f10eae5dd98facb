"""What counts as a function, method or type in each language, and why some are missed.

A cause is a pattern over ``kind name line`` of a missed tag, ``line`` being the text that ctags
points at. ``wrong`` are tags that are no definitions of that name: ctags misread the text, or calls
something a type that is none. ``limits`` are definitions that the engine leaves out.
"""

import re
from typing import NamedTuple

#: Kinds of the engine that are functions, methods or types.
ENGINE_KINDS = frozenset(
    {
        "class",
        "constructor",
        "enum",
        "function",
        "instance",
        "interface",
        "macro",
        "method",
        "module",
        "struct",
        "trait",
        "type",
    }
)

Causes = tuple[tuple[str, str], ...]


class Tag(NamedTuple):
    """A definition that ctags found."""

    name: str  # without qualifier
    line: int
    kind: str  # as ctags calls it


class Side(NamedTuple):
    """A language as both sides know it."""

    ctags: str  # its name there
    languages: str  # their names in the engine
    kinds: str  # of ctags
    wrong: Causes = ()
    limits: Causes = ()
    quoted: str = ""  # a pattern of strings and comments in which ctags sees definitions


#: Names that do not stand in the text.
_MADE_UP = re.compile(r"__anon|[Aa]nonymous|anonFunc|<|$")

_IN_TEXT = "stands in a string or a comment"
_NEXT_LINE = "ctags gives the line after the name"
_KEYWORD = "a keyword"
_CALL = "a call"
_COMPUTED = "a computed name, of which ctags gives a part"
_WRONG_NAME = "a part of the name only"
_IMPORT = "an import, or an operator before a word"

TABLE: dict[str, Side] = {
    "bash": Side(
        "Sh",
        "bash",
        "function",
        wrong=((r"^function (\S+) function \1\((?!\))", _IN_TEXT),),
    ),
    "c": Side(
        "C",
        "c",
        "function enum struct typedef union",
    ),
    "cpp": Side(
        "C++",
        "cpp",
        "class function enum struct typedef union",
        wrong=(
            (r"^function TEST(_F|_P)? ", "a test macro: here its arguments are the name"),
            (r"^function (\S+) [A-Z_]{4,}\(.*\b\1\(", _CALL),
            (r"^struct (\S+) struct \w+ \1\b", "a variable"),
        ),
    ),
    "csharp": Side(
        "C#",
        "csharp",
        "class enum interface method struct typedef",
        wrong=(
            (r"^class (\S+) (?!.*\b(class|record) \1\b)", "a type parameter or a constraint"),
            (r"^typedef (\S+) using \1 =", _IMPORT),
            (r"^method (\S+) (: |throw new )?\1\(", _CALL),
        ),
    ),
    "elixir": Side(
        "Elixir",
        "elixir",
        "macro callback delegate exception function guard implementation module operator "
        "protocol type",
        wrong=(
            (r"^\w+ unquote ", _COMPUTED),
            (r"^\w+ (\S+) (?!.*\b\1(\b|[?!]))", _WRONG_NAME),
        ),
        quoted=r"(\"\"\"|''')(?:.|\n)*?\n\s*\1",
    ),
    "go": Side("Go", "go", "func interface methodSpec struct type talias"),
    "haskell": Side(
        "Haskell",
        "haskell",
        "function type",
        wrong=(
            (r"^function (class|where|deriving|instance|import|type|data) ", _KEYWORD),
            (r"^function (\S+) .*[{,]? *\1 *::", "a field of a record"),
        ),
    ),
    "java": Side(
        "Java",
        "java",
        "annotation class enum interface method",
        wrong=((r"^method ([A-Z][A-Z_0-9]*) \1\(.*\) *\{$", "a constant of an enum, with a body"),),
    ),
    "javascript": Side(
        "JavaScript",
        "javascript",
        "class function generator method getter setter",
        wrong=(
            (r"^class \S+ (?!.*\b(class|function)\b)", "an object, which ctags calls a class"),
            (r"^\w+ (\S+) .*\b\1\.prototype\b(?!.*\b(class|function) \1\b)", "a mention only"),
            (
                r"^method (\S+) (?!.*\b\1[\"']?\s*[:=]\s*(async )?function\b)(?!.*\b\1\s*\()",
                "an assignment of something else",
            ),
            (r"^function (\S+) \S*\[.*\] = function", _COMPUTED),
            (r"^function (\S+) \1\.\w+ = function", _WRONG_NAME),
        ),
        limits=(
            (r"^method (\S+) \1: (async )?function", "in an object literal inside another"),
            (r"^(function|method|class) .*[^=!]= ?function", "assigned inside an expression"),
        ),
    ),
    "kotlin": Side(
        "Kotlin",
        "kotlin",
        "class interface method object typealias",
        wrong=(
            (
                r"^method (\S+) (?!.*\bfun\b.*\b\1\s*[(<])",
                "a parameter of a lambda, the variable of a loop, or a part of a quoted name",
            ),
            (r"^object Companion .*companion object", "a companion object without a name"),
        ),
    ),
    "lua": Side(
        "Lua",
        "lua",
        "function",
        wrong=(
            (r"^function \S*\] ", _COMPUTED),
            (r"^function \S*\[\S* ", _COMPUTED),
            (
                r"^function (\S+) (?!.*\bfunction\s+([\w.]+[.:])?\1\b)"
                r"(?!.*\b\1[\"']?\]?\s*=\s*function\b)",
                "a variable or an argument",
            ),
        ),
        quoted=r"\[(=*)\[(?:.|\n)*?\]\1\]",
    ),
    "php": Side(
        "PHP",
        "php",
        "class function interface trait",
        wrong=((r"^function (\S+) .*\$\1 = function", "a variable that holds a closure"),),
    ),
    "python": Side(
        "Python",
        "python",
        "class function member",
        limits=((r"\bcp?def\b", "a C function of Cython, which is not Python"),),
    ),
    "ruby": Side(
        "Ruby",
        "ruby",
        "class module method singletonMethod",
        wrong=(
            (r"^singletonMethod (\S+) .*def \1\.", "the object of a method, not its name"),
            (r"^\w+ethod \S*_ .*#\{", _IN_TEXT),
        ),
        quoted=r"<<[-~]?[\"'`]?([A-Z]\w*)\b.*\n(?:.|\n)*?\n\s*\1\b",
    ),
    "rust": Side("Rust", "rust", "method function enum interface struct typedef"),
    "typescript": Side(
        "TypeScript",
        "typescript tsx",
        "alias class function generator enum interface method",
        wrong=(
            (r"^alias (\S+) (?!.*\btype \1\s*(<|=|$))", _IMPORT),
            (r"^alias (\S+) .*\btype (instanceof|satisfies)", _IMPORT),
            (r"^(interface|class) (\S+) extends\b", _NEXT_LINE),
            (r"^method new ", "a construct signature: it has no name"),
            (r"^(method|enum) (as|if|for|while|switch|true|false|extends) ", _KEYWORD),
            (r"^method (\S+) \1\??: *<", "a property whose type is a function"),
        ),
    ),
}


def is_made_up(name: str) -> bool:
    """Say whether ctags made a name up."""
    return _MADE_UP.match(name) is not None


def cause_of(side: Side, tag: Tag, lines: list[str]) -> tuple[str, bool]:
    """Say why a tag is missed and whether ctags is wrong; an empty cause when nothing fits."""
    line = lines[tag.line - 1].strip() if 0 < tag.line <= len(lines) else ""
    described = f"{tag.kind} {tag.name} {line}"
    if side.quoted and _is_quoted(side.quoted, tag.line, lines):
        return _IN_TEXT, True
    for causes, is_wrong in ((side.wrong, True), (side.limits, False)):
        for pattern, meaning in causes:
            if re.search(pattern, described):
                return meaning, is_wrong
    return "", False


def _is_quoted(pattern: str, number: int, lines: list[str]) -> bool:
    text = "\n".join(lines)
    for match in re.finditer(pattern, text):
        first = text.count("\n", 0, match.start()) + 1
        if first < number <= first + match.group().count("\n"):
            return True
    return False
