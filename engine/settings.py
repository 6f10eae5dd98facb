"""The settings as a user sees and changes them: values, origins, bounds, and ``config.toml``.

A change rewrites one line of ``config.toml`` and keeps the rest of it with its comments. Processes
read their settings when they start, so a running server has a new value after a restart.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from engine.atomic_files import changing, replace_file
from engine.config import SETTINGS, Config, Origin, Setting, changed_config, secrets_set
from engine.did_you_mean import did_you_mean
from engine.embedding.model_setting import redacted_setting
from engine.errors import (
    InvalidConfigError,
    InvalidInputError,
    NotFoundError,
)

FILE_NAME: Final = "config.toml"

#: Groups of settings, in the order in which they are shown.
GROUPS: Final = {
    "Search": ("search_timeout", "cache_memory"),
    "Meaning": ("model", "device", "model_threads", "embedding_timeout", "query_timeout"),
    "Indexing": (
        "max_file_size",
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
#: Why a setting cannot be changed on a page.
FIXED: Final = {
    "model": "another model computes all vectors anew, and may be a server that gets your code",
    "host": "it decides which machines can reach this server",
    "port": "this page would no longer be at its address",
}


@dataclass(frozen=True, slots=True, kw_only=True)
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
    fixed: Annotated[str, "why a page cannot change it; empty: it can"]

    @property
    def is_pending(self) -> bool:
        """Whether a restart would change the value."""
        if self.is_overridden:
            return False
        return (self.default if self.stored is None else self.stored) != self.value

    @property
    def is_overridden(self) -> bool:
        """Whether something stronger than ``config.toml`` decides."""
        return self.origin in (Origin.ARGUMENT, Origin.ENVIRONMENT)


def unknown_setting(name: str) -> NotFoundError:
    """Return the error for a name that no setting has, with the closest one."""
    known = [each.name for each in SETTINGS]
    return NotFoundError(
        f"there is no setting {name[:100]!r}{did_you_mean(name[:100], known)}",
        hint=f"known: {', '.join(known)}",
        field="name",
    )


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

    def secrets(self) -> dict[str, bool]:
        """Return the variables that hold keys and tokens, and whether each is set."""
        return secrets_set()

    def change(self, name: str, value: str | None) -> SettingState:
        """Store a setting in ``config.toml``.

        Args:
            name: The setting.
            value: Its new value; None removes the line, so that the default holds.

        Raises:
            NotFoundError: There is no such setting.
            InvalidInputError: It cannot be changed this way.
            InvalidConfigError: The value is of the wrong kind or out of range, or the file cannot
                be read.
            EngineError: The file cannot be written.
        """
        setting = next((each for each in SETTINGS if each.name == name), None)
        if setting is None:
            raise unknown_setting(name)
        if name in FIXED:
            raise InvalidInputError(
                f"{name} cannot be changed here: {FIXED[name]}",
                hint=f"edit {self._file}",
                field=name,
            )
        new = {} if value is None else {name: value.strip()}
        checked = changed_config(self._config, new)
        with changing(self._file):
            document = self._document()
            if new:
                document[name] = getattr(checked, name)
            else:
                document.pop(name, None)
            text = tomlkit.dumps(document)
            if tomllib.loads(text) != document.unwrap():
                raise InvalidConfigError(
                    f"{self._file} cannot be edited safely", hint="edit it yourself", field=name
                )
            replace_file(self._file, text)
            return next(each for each in self.all() if each.name == name)

    def _state(self, setting: Setting, group: str, stored: object) -> SettingState:
        is_number = isinstance(setting.default, int)
        return SettingState(
            name=setting.name,
            group=group,
            help=setting.help,
            value=redacted_setting(str(getattr(self._config, setting.name))),
            default=str(setting.default),
            unit=setting.unit,
            origin=self._config.origins.get(setting.name, Origin.DEFAULT),
            stored=None if stored is None else redacted_setting(str(stored)),
            minimum=setting.minimum if is_number else None,
            maximum=setting.maximum if is_number else None,
            values=setting.values,
            fixed=FIXED.get(setting.name, ""),
        )

    def _document(self) -> tomlkit.TOMLDocument:
        try:
            return tomlkit.parse(self._file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return tomlkit.document()
        except (OSError, ValueError, TOMLKitError) as error:  # not UTF-8, or not TOML
            raise InvalidConfigError(
                f"cannot read {self._file}: {error}", field=FILE_NAME
            ) from error
