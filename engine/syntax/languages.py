"""Detect the language of a file, and resolve the names that people use for languages and kinds.

The data is in ``language_table``; ``parser`` loads the grammars.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from engine.syntax.language_table import TABLE, Language

LANGUAGES: dict[str, Language] = {language.name: language for language in TABLE}

#: The folder of the queries for grammars.
QUERIES: Final = Path(__file__).with_name("queries")

#: Prose and data, which rank below code.
DOCUMENT_LANGUAGES = frozenset(name for name, item in LANGUAGES.items() if item.family != "code")

#: Kinds of symbols over all languages.
KINDS: frozenset[str] = frozenset(
    {
        "function",
        "method",
        "constructor",
        "class",
        "struct",
        "interface",
        "enum",
        "trait",
        "type",
        "module",
        "namespace",
        "constant",
        "variable",
        "field",
        "property",
        "macro",
        "instance",  # of a type class, for a type; a resource of Terraform, of its type
        "section",  # a heading with the text below it, a named part of a page
        "selector",  # a class or id for which a style sheet has rules
        "target",  # a build target: of a makefile, a stage of a Dockerfile
    }
)

#: Other names of kinds, and names for several kinds at once.
KIND_ALIASES: dict[str, frozenset[str]] = {
    "type": frozenset({"class", "struct", "interface", "enum", "trait", "type"}),
    "const": frozenset({"constant"}),
    "func": frozenset({"function"}),
    "fn": frozenset({"function"}),
    "def": frozenset({"function", "method", "constructor", "macro"}),
    "callable": frozenset({"function", "method", "constructor", "macro"}),
    "method": frozenset({"method", "constructor"}),
    "ctor": frozenset({"constructor"}),
    "var": frozenset({"variable"}),
    "prop": frozenset({"property"}),
    "attribute": frozenset({"field", "property"}),
    "protocol": frozenset({"interface", "trait"}),
    "mod": frozenset({"module"}),
    "package": frozenset({"module", "namespace"}),
    "heading": frozenset({"section"}),
    "landmark": frozenset({"section"}),
    "rule": frozenset({"selector", "target"}),
    "stage": frozenset({"target"}),
    "resource": frozenset({"instance"}),
    "table": frozenset({"struct"}),
    "column": frozenset({"field"}),
}

#: Further languages that a filter for a language covers: variants for the same programs.
DIALECTS: dict[str, frozenset[str]] = {"ocaml": frozenset({"ocaml", "ocaml-interface"})}

_BY_FILENAME = {name: language.name for language in TABLE for name in language.filenames}
_BY_EXTENSION = {ext: language.name for language in TABLE for ext in language.extensions}
_BY_INTERPRETER = {name: language.name for language in TABLE for name in language.interpreters}
_BY_ALIAS = {name: language.name for language in TABLE for name in language.aliases}

#: ``config.h.in`` is a template of a header.
_TEMPLATE_SUFFIXES = frozenset({".in", ".template", ".example", ".sample", ".dist", ".default"})

#: ``Dockerfile.dev``, ``LICENSE-MIT``: names that decide whatever follows.
_SPEAKING_STEMS = frozenset(
    {
        "containerfile",
        "copying",
        "dockerfile",
        "gemfile",
        "jenkinsfile",
        "licence",
        "license",
        "makefile",
    }
)
_STEM = re.compile(r"[.\-_]")

#: Programs that start the interpreter that follows on a shebang line.
_LAUNCHERS = frozenset("bundle busybox env exec npx nice pnpm poetry run sudo yarn".split())

_CPP_SIGNS = re.compile(
    rb"^\s*(?:class\s+\w[^;]*[{:]|namespace\s+\w|(?:inline\s+)?namespace\s*\{|template\s*<|"
    rb"(?:public|private|protected)\s*:|using\s+\w+\s*=|enum\s+class\b|constexpr\b)"
    rb"|\bstd::|#\s*include\s*<(?:string|vector|memory|map|functional|utility|cstd\w+)>",
    re.MULTILINE,
)
_C_SIGNS = re.compile(rb"^\s*(?:#\s*(?:include|define|if)|/\*|//|static\s|\{)", re.MULTILINE)
_OBJECTIVE_C_SIGNS = re.compile(rb"^\s*(?:@interface|@protocol|@class|#\s*import)\b", re.MULTILINE)


def language_of(path: str, head: bytes = b"") -> str | None:
    """Return the language of a file, or None if unknown.

    Costs about a microsecond for a decisive name; only other names are examined further.

    Args:
        path: The file's path or name.
        head: The first kilobytes, for names that do not decide: shebang lines, ``.h``.
    """
    name = path[path.rfind("/") + 1 :].lower()
    found = _BY_FILENAME.get(name)
    if found is not None:
        return found
    dot = name.rfind(".")
    if dot > 0:
        extension = name[dot:]
        second = name.rfind(".", 0, dot)
        if second > 0:
            found = _BY_EXTENSION.get(name[second:])
            if found is not None:
                return found
        found = _BY_EXTENSION.get(extension)
        if found is not None:
            decide = _AMBIGUOUS.get(extension)
            return decide(head) if decide is not None and head else found
    return _language_of_unusual(name, head)


def _language_of_unusual(name: str, head: bytes) -> str | None:
    """Detect the language by the stem, the inner name of a template or the shebang line."""
    if head.startswith(b"#!"):
        found = _interpreter_of(head)
        if found is not None:
            return found
    stem, _, last = name.rpartition(".")
    if stem and "." + last in _TEMPLATE_SUFFIXES:
        return language_of(stem, head)
    stem = _STEM.split(name, maxsplit=1)[0]
    return _BY_FILENAME[stem] if stem in _SPEAKING_STEMS else None


def _interpreter_of(head: bytes) -> str | None:
    words = head[2:200].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    for word in words:
        program = word.rpartition("/")[2].lower()
        # Launchers, their options and assignments precede the interpreter.
        if program in _LAUNCHERS or program.startswith("-") or "=" in program:
            continue
        return _BY_INTERPRETER.get(program) or _BY_INTERPRETER.get(program.rstrip("0123456789.-"))
    return None


def _header(head: bytes) -> str:
    if _CPP_SIGNS.search(head):
        return "cpp"
    return "objective-c" if _OBJECTIVE_C_SIGNS.search(head) else "c"


def _include_file(head: bytes) -> str:
    if b"<?" in head:
        return "php"
    return "c" if _C_SIGNS.search(head) else "text"


def _typescript_or_translation(head: bytes) -> str:
    return "xml" if head.startswith(b"<?xml") else "typescript"


_AMBIGUOUS: dict[str, Callable[[bytes], str]] = {
    ".h": _header,
    ".inc": _include_file,
    ".ts": _typescript_or_translation,
}


def language_named(name: str) -> str | None:
    """Return the language with a name, alias or extension (``c++``, ``py``)."""
    lowered = name.lower().strip()
    if lowered in LANGUAGES:
        return lowered
    return _BY_ALIAS.get(lowered) or _BY_EXTENSION.get("." + lowered.lstrip("."))


def kinds_of(name: str) -> frozenset[str] | None:
    """Return the kinds that a name covers (``type``: every class-like kind), or None."""
    lowered = name.lower().strip()
    alias = KIND_ALIASES.get(lowered)
    if alias is not None:
        return alias
    return frozenset({lowered}) if lowered in KINDS else None


def grammar_packages() -> tuple[str, ...]:
    """Return the distributions with the grammars, sorted; their versions affect the symbols."""
    modules = {language.grammar.module for language in TABLE if language.grammar is not None}
    return tuple(sorted(module.replace("_", "-") for module in modules))
