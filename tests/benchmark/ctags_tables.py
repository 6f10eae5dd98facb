"""What counts as a function, method or type in each language, and why some are missed."""

import re
from typing import NamedTuple

#: Kinds of the engine that are functions, methods or types.
ENGINE_KINDS = frozenset(
    "function method constructor class struct interface enum trait type module instance".split()
)


class Tag(NamedTuple):
    """A definition that ctags found."""

    name: str  # without qualifier
    line: int
    kind: str  # as ctags calls it


class Side(NamedTuple):
    """A language as both sides know it."""

    ctags: str  # its name there
    languages: frozenset[str]  # their names in the engine
    kinds: frozenset[str]  # of ctags
    made_up: str = r"__anon|[Aa]nonymous|anonFunc|<"  # names that do not stand in the text
    causes: tuple[tuple[str, str], ...] = ()  # a pattern of "kind name line" and what it means
    quoted: str = ""  # a pattern of texts in which ctags sees definitions

    def is_made_up(self, name: str) -> bool:
        """Say whether ctags made the name up."""
        return re.match(self.made_up, name) is not None


def _side(ctags: str, languages: str, kinds: str, **more: object) -> Side:
    return Side(ctags, frozenset(languages.split()), frozenset(kinds.split()), **more)


_OBJECT = "an object literal, which ctags calls a class"
_IN_TEXT = "stands in a string or a comment"
_NEXT_LINE = "ctags gives the line after the name"

TABLE: dict[str, Side] = {
    "python": _side("Python", "python", "class function member"),
    "javascript": _side(
        "JavaScript",
        "javascript",
        "class function generator method getter setter",
        causes=(
            (r"^class (\S+) .*\b\1[\"']?\s*[:=]\s*\{", _OBJECT),
            (
                r"^\w+ (\S+) .*\b\1\.prototype\b(?!.*\b(class|function) \1\b)",
                "a mention of the prototype, not a definition",
            ),
            (
                r"^method (\S+) (?!.*\b\1[\"']?\s*[:=]\s*(async )?function\b)(?!.*\b\1\s*\()",
                "an assignment that ctags takes for a method",
            ),
        ),
    ),
    "typescript": _side(
        "TypeScript",
        "typescript tsx",
        "alias class function generator enum interface method",
        causes=(
            (
                r"^alias (\S+) (?!.*\btype \1\s*(<|=|$))",
                "an import or an operand of typeof, which ctags takes for a type alias",
            ),
            (
                r"^alias (\S+) .*\btype (instanceof|satisfies)",
                "an import or an operand of typeof, which ctags takes for a type alias",
            ),
            (r"^(interface|class) (\S+) extends\b", _NEXT_LINE),
            (r"^method new ", "a construct signature: it has no name"),
            (r"^method (if|for|while|switch|true|false|extends) ", "a keyword"),
        ),
    ),
    "go": _side("Go", "go", "func interface methodSpec struct type talias"),
    "rust": _side("Rust", "rust", "method function enum interface struct typedef"),
    "java": _side(
        "Java",
        "java",
        "annotation class enum interface method",
        causes=(
            (r"^method [A-Z][A-Z_0-9]* [A-Z_0-9]+\(.*\) *\{$", "a constant of an enum with a body"),
        ),
    ),
    "c": _side(
        "C",
        "c",
        "function enum struct typedef union",
        causes=(
            (
                r"^typedef (\S+) \} *(\*\s*)?\1\b",
                "a typedef of a struct that has the same name: one symbol here",
            ),
        ),
    ),
    "cpp": _side(
        "C++",
        "cpp",
        "class function enum struct typedef union",
        causes=(
            (
                r"^typedef (\S+) \} *(\*\s*)?\1\b",
                "a typedef of a struct that has the same name: one symbol here",
            ),
            (r"^function skip TEST_CASE", "a call in the arguments of a macro"),
        ),
    ),
    "csharp": _side(
        "C#",
        "csharp",
        "class enum interface method struct typedef",
        causes=(
            (r"^class (\S+) (?!.*\b(class|record) \1\b)", "a type parameter or a constraint"),
            (r"^typedef (\S+) using \1 =", "an import under another name"),
            (r"^method base ", "a call"),
        ),
    ),
    "ruby": _side(
        "Ruby",
        "ruby",
        "class module method singletonMethod",
        causes=(
            (
                r"^singletonMethod (\S+) .*def \1\.",
                "the object of a singleton method, which ctags takes for its name",
            ),
            (r"^method \S+_ .*#\{", _IN_TEXT),
        ),
    ),
    "php": _side(
        "PHP",
        "php",
        "class function interface trait",
        causes=((r"^function (\S+) .*\$\1 = function", "a variable that holds a closure"),),
    ),
    "kotlin": _side(
        "Kotlin",
        "kotlin",
        "class interface method object typealias",
        causes=(
            (r"^method (\S+) (?!.*\bfun\b)", "a parameter of a lambda or the variable of a loop"),
            (r"^method (\S+) .*\bfun `", "a wrong name: the part of a quoted name"),
            (r"^object Companion .*companion object", "a companion object: it has no name"),
        ),
    ),
    "lua": _side(
        "Lua",
        "lua",
        "function",
        causes=(
            (
                r"^function (\S+) (?!.*\bfunction\s+([\w.]+[.:])?\1\b)(?!.*\b\1\"?'?\]?\s*=\s*function\b)",
                "a variable or argument, not a function",
            ),
        ),
    ),
    "elixir": _side(
        "Elixir",
        "elixir",
        "macro callback delegate exception function guard implementation module operator protocol type",
        quoted=r'~?[sS]?"""(?:.|\n)*?\n\s*"""',
        causes=(
            (r"^\w+ unquote ", "a name made by unquote"),
            (r"^\w+ (\S+) (?!.*\b\1(\b|[?!]))", "a wrong name: its last letters are lost"),
        ),
    ),
    "haskell": _side(
        "Haskell",
        "haskell",
        "function type",
        causes=(
            (r"^function (class|where|deriving|instance) ", "a keyword"),
            (r"^function (\S+) .*[{,] *\1 *::", "a field of a record"),
        ),
    ),
    "bash": _side("Sh", "bash", "function"),
}

NOTES = ""


def cause_of(side: Side, tag: Tag, lines: list[str]) -> str:
    """Say why a definition is missed, when a rule of the language knows it; else empty."""
    line = lines[tag.line - 1].strip() if 0 < tag.line <= len(lines) else ""
    for pattern, meaning in side.causes:
        if re.search(pattern, f"{tag.kind} {tag.name} {line}"):
            return meaning
    if side.quoted:
        text = "\n".join(lines)
        for match in re.finditer(side.quoted, text):
            first = text.count("\n", 0, match.start()) + 1
            if first < tag.line <= first + match.group().count("\n"):
                return _IN_TEXT
    return ""
