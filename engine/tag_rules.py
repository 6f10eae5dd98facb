"""The rules of ``config.toml`` that tag files: what each says, checked for its form.

    tags = [{path = "src/api/**", tags = ["api"]}, {language = "sql", tags = ["data"]}]

``engine.search.file_tags`` applies them.
"""

import re
from typing import Annotated, Final

from engine.errors import InvalidConfigError
from engine.record_class import record

MAX_RULES: Final = 200
MAX_TAGS: Final = 20  # of a rule
MAX_TAG_CHARS: Final = 100
MAX_PATH_CHARS: Final = 4096
_KEYS: Final = ("path", "language", "tags")
_WANTED: Final = 'wanted {path = "src/api/**", tags = ["api"]}, with path, language or both'
# A tag has no blanks, so that no filter needs quotes; a dot begins an extension, ! excludes.
_TAG = re.compile(r"[^\W_][^\s,\"!\x00-\x1f\x7f]*")


@record
class TagRule:
    """A rule: files with this path and this language have these tags."""

    path: Annotated[str | None, "as the filter path:; null: any"]
    language: Annotated[str | None, "null: any"]
    tags: tuple[str, ...]


def parse_tag_rules(given: object) -> tuple[TagRule, ...]:
    """Return the rules that the setting ``tags`` holds.

    Raises:
        InvalidConfigError: It is not a list of rules.
    """
    if not isinstance(given, list) or len(given) > MAX_RULES:
        raise _invalid(f"is not a list of at most {MAX_RULES} rules")
    return tuple(_parse_rule(rule, number) for number, rule in enumerate(given, 1))


def _parse_rule(rule: object, number: int) -> TagRule:
    if not isinstance(rule, dict):
        raise _invalid(f"has a rule {number} that is no table")
    unknown = sorted(set(rule) - set(_KEYS))
    if unknown:
        raise _invalid(f"has an unknown key {unknown[0]!r} in rule {number}")
    path, language, tags = (rule.get(key) for key in _KEYS)
    if path is None and language is None:
        raise _invalid(f"has neither path nor language in rule {number}")
    for key, value in (("path", path), ("language", language)):
        if value is not None and not (
            isinstance(value, str) and 0 < len(value.strip()) <= MAX_PATH_CHARS
        ):
            raise _invalid(f"has a {key} in rule {number} that is no text")
    if not isinstance(tags, list) or not 0 < len(tags) <= MAX_TAGS:
        raise _invalid(f"has no list of 1 to {MAX_TAGS} tags in rule {number}")
    for tag in tags:
        if not (isinstance(tag, str) and len(tag) <= MAX_TAG_CHARS and _TAG.fullmatch(tag)):
            raise _invalid(
                f"has {tag!r} in rule {number}, which is no tag: it begins with a letter or digit"
                " and has no blank, comma or quote"
            )
    return TagRule(path=path, language=language, tags=tuple(dict.fromkeys(tags)))


def _invalid(problem: str) -> InvalidConfigError:
    return InvalidConfigError(f"the setting tags {problem}", hint=_WANTED, field="tags")
