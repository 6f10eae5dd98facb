"""The tags of files, and the choice of files and memories by tags."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from engine.memories.limits import read_tags
from engine.memory_records import RESERVED_TAGS
from engine.records import display_path
from engine.store.filters import Filters, PathRule, build_filters
from engine.store.memories import TagRule
from engine.syntax.languages import LANGUAGES


def tags_of_file(path: str, language: str) -> tuple[str, ...]:
    """Give the tags of an indexed file: ``indexed``, ``repository``, its extension, its language.

    The extension is what the name has from its last dot on; a name without one has none.
    """
    name = display_path(path.rpartition("/")[2])
    extension = name[name.rfind(".") :] if "." in name else ""
    return tuple(filter(None, ("indexed", "repository", extension, language)))


class Choice(NamedTuple):
    """What a search or a list may give: what has all of some tags and none of others."""

    rule: TagRule

    @classmethod
    def of(cls, tags: Sequence[str], *, only_memories: bool = False) -> Self:
        """Read tags as they are asked for.

        Raises:
            InvalidInputError: One cannot be a tag, or there are too many.
        """
        wanted, refused = read_tags(tags)
        return cls(TagRule(wanted, (*refused, *RESERVED_TAGS) if only_memories else refused))

    @property
    def may_be_files(self) -> bool:
        """Whether a file can pass; told without a look at any."""
        own = [tag for tag in self.rule.wanted if tag not in RESERVED_TAGS]
        return (
            RESERVED_TAGS.isdisjoint(self.rule.refused)
            and all(tag in LANGUAGES or _is_extension(tag) for tag in own)
            and len(_languages(own)) <= 1
        )

    @property
    def may_be_memories(self) -> bool:
        """Whether a memory can pass."""
        return RESERVED_TAGS.isdisjoint(self.rule.wanted)

    def filters(self, branch_id: int) -> Filters:
        """Give the conditions on the files of a branch, when files can pass."""
        wanted, refused = self.rule
        return build_filters(
            branch_id=branch_id,
            languages=(_languages(wanted), _languages(refused)),
            paths=PathRule(endings=(_extensions(wanted), _extensions(refused))),
        )


def _languages(tags: Iterable[str]) -> frozenset[str]:
    return frozenset(tag for tag in tags if tag in LANGUAGES)


def _extensions(tags: Iterable[str]) -> frozenset[str]:
    return frozenset(tag for tag in tags if _is_extension(tag))


def _is_extension(tag: str) -> bool:
    """Say whether a path that ends so has this extension: there is no dot after the first."""
    return tag.startswith(".") and "." not in tag[1:] and "/" not in tag
