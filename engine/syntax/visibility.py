"""Whether a definition can be used from outside its file, by the rules of its language."""

from collections.abc import Callable
from typing import NamedTuple


class Facts(NamedTuple):
    """What a rule may look at."""

    name: str
    kind: str
    words: frozenset[str]  # that stand before the name in the definition: modifiers, mainly
    parent_kind: str  # "" at top level
    parent_exported: bool  # true at top level
    receiver: str  # container that is not around it, with dots; "" without
    is_wrapped_export: bool  # the definition stands in an export statement
    listed: frozenset[str]  # names that the file exports by a list
    has_list: bool  # the file has such a list


Rule = Callable[[Facts], bool]

_MEMBERS_ARE_PUBLIC = frozenset({"interface", "trait"})


def _always(_: Facts) -> bool:
    return True


def _no_underscore(facts: Facts) -> bool:
    name = facts.name
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _capital(facts: Facts) -> bool:
    return facts.name[:1].isupper()


def _pub(facts: Facts) -> bool:
    if facts.words & {"pub", "pub(crate)", "pub(super)", "export"}:
        return True
    if facts.parent_kind in _MEMBERS_ARE_PUBLIC:
        return facts.parent_exported
    return facts.parent_kind == "instance" or facts.kind == "macro"


def _public(facts: Facts) -> bool:
    if facts.words & {"public", "protected"}:
        return True
    if facts.parent_kind in _MEMBERS_ARE_PUBLIC:
        return facts.parent_exported and "private" not in facts.words
    return facts.kind == "namespace"


def _not_private(facts: Facts) -> bool:
    return facts.parent_exported and not facts.words & {"private", "protected", "internal"}


def _open(facts: Facts) -> bool:
    if facts.words & {"public", "open"}:
        return True
    return facts.parent_kind in _MEMBERS_ARE_PUBLIC and facts.parent_exported


def _export(facts: Facts) -> bool:
    if facts.parent_kind in _HOLDS_MEMBERS:
        return (
            facts.parent_exported
            and not facts.name.startswith("#")
            and not facts.words & {"private", "protected"}
        )
    owner = facts.receiver.partition(".")[0] or facts.name
    return facts.is_wrapped_export or "export" in facts.words or owner in facts.listed


_HOLDS_MEMBERS = frozenset({"class", "interface", "variable", "constant", "scope"})


def _not_static(facts: Facts) -> bool:
    return facts.parent_kind in {"class", "struct"} or "static" not in facts.words


def _not_local(facts: Facts) -> bool:
    return "local" not in facts.words


def _listed(facts: Facts) -> bool:
    if not facts.has_list or facts.kind == "instance":
        return True
    return facts.name in facts.listed or (facts.parent_kind != "" and facts.parent_exported)


def _elixir(facts: Facts) -> bool:
    return not facts.words & {"defp", "defmacrop", "defguardp"}


def _ruby(facts: Facts) -> bool:
    return not facts.words & {"private", "protected", "private_class_method"}


def _ocaml(facts: Facts) -> bool:
    return not facts.name.startswith("_") and "private" not in facts.words


def _julia(facts: Facts) -> bool:
    if facts.kind == "module" or facts.receiver:
        return True
    if facts.parent_kind == "struct":
        return facts.parent_exported
    return facts.name in facts.listed if facts.has_list else not facts.name.startswith("_")


RULES: dict[str, Rule] = {
    "always": _always,
    "no_underscore": _no_underscore,
    "capital": _capital,
    "pub": _pub,
    "public": _public,
    "not_private": _not_private,
    "open": _open,
    "export": _export,
    "not_static": _not_static,
    "not_local": _not_local,
    "listed": _listed,
    "elixir": _elixir,
    "ruby": _ruby,
    "ocaml": _ocaml,
    "julia": _julia,
}

#: Rules that do not look at the words before the name.
WORDLESS_RULES = frozenset({"always", "no_underscore", "capital", "listed", "julia"})
