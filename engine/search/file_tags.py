"""Apply the rules of ``config.toml`` that tag files.

Nothing of them is stored in an index: a rule is matched when a question is asked, so a change of
the rules holds for the next question, in a running server too. ``tag:name`` means the files that
the rules give this tag; a name that no rule has is an extension or a language.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import read_tag_rules
from engine.did_you_mean import did_you_mean
from engine.errors import InvalidConfigError, InvalidInputError
from engine.record_class import replaced
from engine.search.query import Query
from engine.search.selection import FILE_TAGS, FilePredicate, path_predicate, tag_predicate
from engine.search_records import Hit
from engine.syntax.languages import DIALECTS, LANGUAGES, language_named

if TYPE_CHECKING:
    from engine.tag_rules import TagRule

_FILE_NAME = "config.toml"


class TagRules:
    """Compiled rules.

    Args:
        rules: The rules, as they stand in the file.

    Raises:
        InvalidConfigError: A path, a language or a tag of one means nothing, or something else.
    """

    def __init__(self, rules: "Sequence[TagRule]" = ()) -> None:
        self.rules = tuple(rules)
        self._compiled = [(_predicate_of(rule, n), rule.tags) for n, rule in enumerate(rules, 1)]
        self._by_tag: dict[str, list[FilePredicate]] = defaultdict(list)
        for passes, tags in self._compiled:
            for tag in tags:
                self._by_tag[tag.lower()].append(passes)

    def __contains__(self, tag: str) -> bool:
        return tag.lower() in self._by_tag

    @property
    def names(self) -> tuple[str, ...]:
        """All tags, in the order of the rules."""
        return tuple(dict.fromkeys(tag for rule in self.rules for tag in rule.tags))

    def of(self, path: str, language: str) -> tuple[str, ...]:
        """Return the tags of a file, in the order of the rules."""
        tagged = (tags for passes, tags in self._compiled if passes(path, language))
        return tuple(dict.fromkeys(tag for tags in tagged for tag in tags))

    def predicate(self, tag: str) -> FilePredicate:
        """Return which files have a tag: by the rules, or one that files have without any."""
        rules = self._by_tag.get(tag.lower())
        if rules is None:
            return tag_predicate(tag)
        return lambda path, language: any(passes(path, language) for passes in rules)

    def tagged(self, hits: Iterable[Hit]) -> list[Hit]:
        """Return hits with the tags of their files."""
        if not self.rules:
            return list(hits)
        return [replaced(hit, tags=self.of(hit.path, hit.language)) for hit in hits]

    def notes(self, query: Query) -> Iterator[str]:
        """Yield what to say of a question's tags that may be misspelt; it found nothing."""
        for term in query.values("tag"):
            tag = term.value
            if not (
                term.negated
                or tag in self
                or tag in FILE_TAGS
                or tag.startswith(".")
                or language_named(tag)
            ):
                close = did_you_mean(tag, self.names)
                yield f"no rule of {_FILE_NAME} gives the tag {tag!r}{close}"


NO_RULES = TagRules()


def _predicate_of(rule: "TagRule", number: int) -> FilePredicate:
    for tag in rule.tags:
        if tag in FILE_TAGS or tag.lower() in LANGUAGES:
            raise _invalid(number, f"{tag!r} is a tag that files have already")
    of_path: FilePredicate = lambda _path, _language: True  # noqa: E731
    if rule.path is not None:
        try:
            of_path = path_predicate(rule.path, position=None)
        except InvalidInputError as error:
            raise _invalid(number, error.message) from error
    if rule.language is None:
        return of_path
    name = language_named(rule.language)
    if name is None:
        close = did_you_mean(rule.language, LANGUAGES)
        raise _invalid(number, f"unknown language {rule.language!r}{close}")
    languages = DIALECTS.get(name, frozenset({name}))
    return lambda path, language: language in languages and of_path(path, language)


def _invalid(number: int, problem: str) -> InvalidConfigError:
    return InvalidConfigError(f"rule {number} of the setting tags: {problem}", field="tags")


class FileTags:
    """The rules of a data directory as they are now. For any number of threads.

    Args:
        data_dir: The folder of ``config.toml``.
    """

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / _FILE_NAME
        self._seen: tuple[object, TagRules] = (None, NO_RULES)

    def current(self) -> TagRules:
        """Return the rules; the file is read again after a change of it.

        Raises:
            InvalidConfigError: The file, or a rule in it, cannot be read.
        """
        state = _state_of(self._file)
        seen, rules = self._seen
        if state != seen:
            rules = TagRules(read_tag_rules(self._file)) if state else NO_RULES
            self._seen = state, rules
        return rules

    def usable(self, note: Callable[[str], None] | None = None) -> TagRules:
        """Return the rules, or none while they cannot be read; then ``note`` is told why."""
        try:
            return self.current()
        except InvalidConfigError as error:
            if note:
                note(f"files are shown without tags: {error.message}")
            return NO_RULES


def _state_of(file: Path) -> object:
    """Return what a change of a file changes; None without a file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
