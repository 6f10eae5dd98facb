"""The settings as a user sees and changes them: values, origins, bounds, and ``config.toml``.

A change rewrites one line of ``config.toml`` and keeps the rest of it with its comments. Processes
read their settings when they start, so a running server has a new value after a restart.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from engine.atomic_files import changing, replace_file
from engine.config import (
    MAX_SETTINGS_BYTES,
    SETTINGS,
    TAGS,
    Config,
    Origin,
    Setting,
    changed_config,
    list_text,
    secrets_set,
)
from engine.did_you_mean import did_you_mean
from engine.embedding.model_setting import redacted_setting
from engine.errors import (
    InvalidConfigError,
    InvalidInputError,
    NotFoundError,
)
from engine.files import read_small
from engine.record_class import record
from engine.search.file_tags import FileTags, TagRules
from engine.tag_rules import TagRule, parse_tag_rules

FILE_NAME: Final = "config.toml"

#: Groups of settings, in the order in which they are shown.
GROUPS: Final = {
    "Search": ("search_timeout", "cache_memory"),
    "Meaning": ("model", "device", "model_threads", "embedding_timeout", "query_timeout"),
    "Indexing": (
        "max_file_size",
        "allow_secret_files",
        "workers",
        "worker_memory",
        "parse_timeout",
        "batch_bytes",
        "queue_bytes",
        "busy_timeout",
        "history_commits",
        "history_days",
    ),
    "Jobs": ("jobs", "job_retention", "storage_patience", "embedder_patience"),
    "Watching": ("watch_debounce", "watch_reconcile"),
    "Server and pages": ("host", "port", "editor"),
}
#: Origins that win over ``config.toml``.
_STRONGER: Final = (Origin.ARGUMENT, Origin.ENVIRONMENT)
#: Why a setting cannot be changed on a page.
FIXED: Final = {
    "model": "another model recomputes all vectors, and may be a server that your code is sent to",
    "allow_secret_files": "it decides which keys and credentials enter the index",
    "host": "it decides which machines can reach this server",
    "port": "this page would no longer be at its address",
}


@record
class SettingState:
    """A setting, its value in force in this process, and what ``config.toml`` says."""

    name: str
    group: str
    help: Annotated[str, "what it does"]
    value: Annotated[str, "in force; possible passwords are redacted"]
    default: str
    unit: str
    origin: Annotated[Origin, "of the value in force"]
    stored: Annotated[str | None, "in config.toml; null: it is not there"]
    minimum: Annotated[int | None, "of a number"]
    maximum: Annotated[int | None, "of a number"]
    values: Annotated[tuple[str, ...], "the only ones, when there are any"]
    fixed: Annotated[str, "why neither a page nor the API changes it; empty: they can"]
    pending: Annotated[bool, "whether a restart would change the value in force"]

    @property
    def is_overridden(self) -> bool:
        """Whether something stronger than ``config.toml`` decides."""
        return self.origin in _STRONGER


def unknown_setting(name: str) -> NotFoundError:
    """Return the error for a name that no setting has, with the closest one."""
    known = [each.name for each in SETTINGS]
    return NotFoundError(
        f"there is no setting {name[:100]!r}{did_you_mean(name[:100], known)}",
        hint=f"known: {', '.join(known)}",
        field="name",
    )


@record
class SettingList:
    """All settings, and which secrets are set."""

    file: Annotated[str, "the path of config.toml, which need not exist"]
    settings: Annotated[tuple[SettingState, ...], "by group"]
    secrets: Annotated[dict[str, bool], "variables of the environment; whether each is set"]
    tags: Annotated[tuple[TagRule, ...], "the rules that tag files"]


class Settings:
    """The settings of a data directory. For any number of threads and processes.

    Args:
        config: The settings in force in this process.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._file = config.data_dir / FILE_NAME

    @property
    def file(self) -> Path:
        """The path of ``config.toml``, which need not exist."""
        return self._file

    def all(self) -> tuple[SettingState, ...]:
        """Return all settings by group.

        Raises:
            InvalidConfigError: ``config.toml`` cannot be read.
        """
        known = {setting.name: setting for setting in SETTINGS}
        stored = self._document().unwrap()
        return tuple(
            self._state(known[name], group, stored.get(name))
            for group, names in GROUPS.items()
            for name in names
        )

    def list(self) -> SettingList:
        """Return what pages, commands and the API show.

        Raises:
            InvalidConfigError: ``config.toml`` cannot be read.
        """
        return SettingList(
            file=str(self._file),
            settings=self.all(),
            secrets=self.secrets(),
            tags=self.tag_rules(),
        )

    def tag_rules(self) -> tuple[TagRule, ...]:
        """Return the rules that tag files, which hold for every question from now on.

        Raises:
            InvalidConfigError: ``config.toml`` or one of them cannot be read.
        """
        return FileTags(self._config.data_dir).current().rules

    def secrets(self) -> dict[str, bool]:
        """Return the variables that hold keys and tokens, and whether each is set."""
        return secrets_set()

    def change(self, name: str, value: str | None) -> SettingState:
        """Store a setting in ``config.toml``; None removes it, as for ``change_all``."""
        self.change_all({name: value})
        return next(each for each in self.all() if each.name == name)

    def change_all(self, values: Mapping[str, str | int | None]) -> None:
        """Store settings in ``config.toml``, all or none.

        Args:
            values: New values by name; None removes the line, so that the default holds.

        Raises:
            NotFoundError: There is no such setting.
            InvalidInputError: One cannot be changed this way.
            InvalidConfigError: A value is of the wrong kind or out of range, or the file cannot
                be read.
            EngineError: The file cannot be written.
        """
        for name in values:
            if all(name != each.name for each in SETTINGS):
                raise unknown_setting(name)
            if name in FIXED:
                raise InvalidInputError(
                    f"{name} cannot be changed here: {FIXED[name]}",
                    hint=f"edit {self._file}",
                    field=name,
                )
        new = {name: str(each).strip() for name, each in values.items() if each is not None}
        checked = changed_config(self._config, new)
        with changing(self._file):
            document = self._document()
            for name in values:
                if name in new:
                    document[name] = getattr(checked, name)
                else:
                    document.pop(name, None)
            self._write(document, field=min(values))

    def add_tag_rule(self, path: str, language: str, tags: Sequence[str]) -> None:
        """Store a rule that tags files in ``config.toml``, after those that are there.

        Args:
            path: The files, as the filter ``path:``; empty: any.
            language: Their language; empty: any.
            tags: What they are tagged with.

        Raises:
            InvalidConfigError: The rule means nothing, or the file cannot be read.
            EngineError: The file cannot be written.
        """
        parts = (("path", path), ("language", language), ("tags", list(tags)))
        rule = {name: value for name, value in parts if value}
        with changing(self._file):
            document = self._document()
            stored = document.unwrap().get(TAGS, [])
            TagRules(parse_tag_rules([*stored, rule] if isinstance(stored, list) else stored))
            rules = document.setdefault(TAGS, tomlkit.array())
            table = tomlkit.table() if isinstance(rules, AoT) else tomlkit.inline_table()
            table.update(rule)
            rules.append(table)
            self._write(document, field=TAGS)

    def remove_tag_rule(self, rule: TagRule) -> None:
        """Remove a rule that tags files from ``config.toml``.

        Raises:
            NotFoundError: There is no such rule.
            InvalidConfigError: The file cannot be read.
            EngineError: The file cannot be written.
        """
        with changing(self._file):
            document = self._document()
            stored = parse_tag_rules(document.unwrap().get(TAGS, []))
            if rule not in stored:
                raise NotFoundError("config.toml has no such rule of tags", field=TAGS)
            if len(stored) == 1:
                del document[TAGS]
            else:
                del document[TAGS][stored.index(rule)]
            self._write(document, field=TAGS)

    def _write(self, document: tomlkit.TOMLDocument, *, field: str) -> None:
        text = tomlkit.dumps(document)
        if tomllib.loads(text) != document.unwrap():
            raise InvalidConfigError(
                f"{self._file} cannot be edited safely", hint="edit it yourself", field=field
            )
        replace_file(self._file, text)

    def _state(self, setting: Setting, group: str, stored: object) -> SettingState:
        is_number = isinstance(setting.default, int)
        origin = self._config.origins.get(setting.name, Origin.DEFAULT)
        value = redacted_setting(str(getattr(self._config, setting.name)))
        stored = list_text(stored) if setting.is_list and stored is not None else stored
        text = None if stored is None else redacted_setting(str(stored))
        after = str(setting.default) if text is None else text
        return SettingState(
            name=setting.name,
            group=group,
            help=setting.help,
            value=value,
            default=str(setting.default),
            unit=setting.unit,
            origin=origin,
            stored=text,
            minimum=setting.minimum if is_number else None,
            maximum=setting.maximum if is_number else None,
            values=setting.values,
            fixed=FIXED.get(setting.name, ""),
            pending=after != value and origin not in _STRONGER,
        )

    def _document(self) -> tomlkit.TOMLDocument:
        try:
            return tomlkit.parse(read_small(self._file, MAX_SETTINGS_BYTES))
        except (FileNotFoundError, NotADirectoryError):
            return tomlkit.document()
        except (OSError, ValueError, TOMLKitError) as error:  # not UTF-8, or not TOML
            raise InvalidConfigError(
                f"cannot read {self._file}: {error}", field=FILE_NAME
            ) from error
