"""The settings: their one table, and how their values are read.

Arguments > environment > file > default. ``CAIRN_<NAME>`` sets one (``CAIRN_WORKERS=1``), and so
does ``config.toml`` in the data directory (``workers = 1``). The only module that reads
settings from the environment. Keys and tokens are wrapped so that nothing shows them by mistake.
"""

import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.did_you_mean import did_you_mean
from engine.errors import InvalidConfigError
from engine.record_class import record

if TYPE_CHECKING:
    from engine.tag_rules import TagRule

MIB = 1 << 20
#: No file above this is ever read, whatever the settings say.
LARGEST_FILE_BYTES = 10 * MIB

_COMMA = ", "  # between the items of a list

#: Of ``config.toml``.
MAX_SETTINGS_BYTES = MIB

#: The one key of ``config.toml`` that is no setting: a list of rules.
TAGS = "tags"

_HAS_AFFINITY = hasattr(os, "sched_getaffinity")

#: Keys that many programs share go only to the service they are for.
_KEYS_OF_SERVICES = {
    "https://api.openai.com/": "OPENAI_API_KEY",
    "https://api.voyageai.com/": "VOYAGE_API_KEY",
}

_LEAST_TOKEN_CHARS = 16


class Origin(StrEnum):
    """The origin of a setting's value, the strongest first."""

    ARGUMENT = "argument"  # of the command line, or of a call
    ENVIRONMENT = "environment"
    FILE = "file"  # config.toml of the data directory
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting."""

    name: str
    default: int | str
    minimum: int  # of a number, or of the characters of a text
    maximum: int
    unit: str
    help: str
    values: tuple[str, ...] = ()  # the only ones, when there are any
    is_list: bool = False  # a text of items with commas between; in config.toml also a list


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "model",
        "static",
        1,
        1000,
        "text",
        "model for search by meaning: static (built in), none, onnx:NAME, or a server",
    ),
    Setting(
        "device",
        "auto",
        1,
        10,
        "text",
        "where an onnx model runs: auto, cpu or cuda",
        ("auto", "cpu", "cuda"),
    ),
    Setting(
        "model_threads",
        0,
        0,
        256,
        "threads",
        "processor threads of an onnx model; 0 means one per usable core",
    ),
    Setting(
        "embedding_timeout",
        7000,
        50,
        600_000,
        "ms",
        "how long a server may take for one batch of passages",
    ),
    Setting(
        "query_timeout",
        3000,
        50,
        600_000,
        "ms",
        "how long a server may take for a question, retries included",
    ),
    Setting(
        "storage_patience",
        600,
        0,
        31_536_000,
        "s",
        "how long a job waits for room on the disk before it fails",
    ),
    Setting(
        "embedder_patience",
        86_400,
        0,
        31_536_000,
        "s",
        "how long a job waits for a model, or a locked database, before it fails",
    ),
    Setting("jobs", 3, 1, 64, "jobs", "indexing jobs that run at the same time at most"),
    Setting(
        "job_retention",
        7,
        1,
        3650,
        "days",
        "how long jobs that have ended are kept, with their events and logs",
    ),
    Setting(
        "history_commits",
        5000,
        0,
        200_000,
        "commits",
        "how many of the newest commits are found at least; 0 leaves out the history",
    ),
    Setting(
        "history_days",
        1095,
        0,
        36_500,
        "days",
        "commits at most this much older than the newest one are always found",
    ),
    Setting("workers", 0, 0, 64, "processes", "parsing processes; 0 means one per usable core"),
    Setting(
        "worker_memory",
        1024 * MIB,
        256 * MIB,
        65_536 * MIB,
        "bytes",
        "address space of a parsing process; a file that needs more is not parsed",
    ),
    Setting(
        "cache_memory",
        256 * MIB,
        0,
        65_536 * MIB,
        "bytes",
        "memory for cached data of all projects; that of the project searched last always stays",
    ),
    Setting(
        "max_file_size",
        MIB,
        0,
        LARGEST_FILE_BYTES,
        "bytes",
        "larger files are skipped; 0 means 10 MB",
    ),
    Setting(
        "allow_secret_files",
        "",
        0,
        4096,
        "globs",
        "secret files that are indexed all the same, as in .gitignore, with commas between them;"
        " secrets inside them are redacted",
        is_list=True,
    ),
    Setting(
        "parse_timeout",
        1000,
        50,
        600_000,
        "ms",
        "CPU time for one file; a file that takes more has no symbols",
    ),
    Setting("busy_timeout", 5000, 0, 600_000, "ms", "how long to wait for a locked database"),
    Setting(
        "batch_bytes", MIB // 2, 65_536, 64 * MIB, "bytes", "most source text in one transaction"
    ),
    Setting(
        "queue_bytes", 32 * MIB, MIB, 1024 * MIB, "bytes", "most source text between processes"
    ),
    Setting(
        "watch_debounce", 500, 20, 10_000, "ms", "how long a watcher waits after the last change"
    ),
    Setting(
        "watch_reconcile",
        600,
        5,
        86_400,
        "s",
        "how often a watcher compares everything, as events can be lost",
    ),
    Setting(
        "search_timeout",
        2000,
        10,
        600_000,
        "ms",
        "how long a pattern search of all its projects may take; it returns what it found by then",
    ),
    Setting(
        "host", "127.0.0.1", 1, 255, "text", "where `cairn serve` listens; elsewhere needs a token"
    ),
    Setting(
        "editor",
        "vscode",
        1,
        10,
        "text",
        "what opens a file from its page: vscode, vscodium, cursor, zed, idea, sublime or none",
        ("vscode", "vscodium", "cursor", "zed", "idea", "sublime", "none"),
    ),
    Setting("port", 7331, 0, 65_535, "port", "port of `cairn serve`; 0 means any free one"),
)


class Secret:
    """A key that no message, log or representation shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(…)" if self._text else "Secret()"

    def reveal(self) -> str:
        """Return the key itself, for its header."""
        return self._text

    def is_equal(self, given: str) -> bool:
        """Compare in constant time; False if empty."""
        same = hmac.compare_digest(self._text.encode(), given.encode("utf-8", "replace"))
        return bool(self._text) and same

    def blanked(self, text: str) -> str:
        """Remove the key from a text, for example a server's message."""
        return text.replace(self._text, "…") if self._text else text


@record
class Config:
    """The settings in force. Field names and meanings are those of ``SETTINGS``."""

    data_dir: Path  # holds one <project id>.db a project
    model: str
    device: str
    model_threads: int
    embedding_timeout: int
    query_timeout: int
    storage_patience: int
    embedder_patience: int
    jobs: int
    job_retention: int
    history_commits: int
    history_days: int
    workers: int
    worker_memory: int
    cache_memory: int
    max_file_size: int
    allow_secret_files: str
    parse_timeout: int
    busy_timeout: int
    batch_bytes: int
    queue_bytes: int
    search_timeout: int
    watch_debounce: int
    watch_reconcile: int
    host: str
    editor: str
    port: int
    #: The origin of each, by name; empty if unknown.
    origins: Mapping[str, Origin] = field(default_factory=dict, compare=False, repr=False)

    @property
    def worker_count(self) -> int:
        """The number of parsing processes to start at most, at least 1."""
        return self.workers or _usable_cores()

    @property
    def thread_count(self) -> int:
        """The number of threads of an onnx model, at least 1."""
        return self.model_threads or _usable_cores()

    @property
    def allowed_secret_files(self) -> tuple[str, ...]:
        """The globs of secret files that are indexed all the same."""
        return tuple(filter(None, self.allow_secret_files.split(_COMMA)))

    @property
    def models_dir(self) -> Path:
        """The folder of the models that ``cairn model pull`` downloads; need not exist."""
        return self.data_dir / "models"


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if _HAS_AFFINITY else os.cpu_count() or 1


def load_config(data_dir: Path | None = None, **arguments: int | str) -> Config:
    """Read the settings.

    Args:
        data_dir: Where indexes live; default ``CAIRN_HOME``, else the user's data directory.
        arguments: Settings that win over environment and file.

    Raises:
        InvalidConfigError: A setting is unknown, of the wrong kind, or out of its range.
    """
    home, home_origin = _home(data_dir)
    try:
        folder = Path(home).expanduser().absolute()
    except RuntimeError as error:  # there is no such user, or no home
        raise InvalidConfigError(
            f"the data directory {home} is in a home folder that is not known",
            hint="set CAIRN_HOME to an absolute path",
            field="data_dir",
        ) from error
    if os.path.exists(folder) and not os.path.isdir(folder):  # False where nobody lets us look
        raise InvalidConfigError(f"the data directory {folder} is not a folder", field="data_dir")
    stored = _read_file(folder / "config.toml")
    values: dict[str, Any] = {}
    origins = {"data_dir": home_origin}
    for setting in SETTINGS:
        given, origins[setting.name] = _given(setting, arguments, stored)
        values[setting.name] = _checked(setting, given)
    _tag_rules_in(stored)  # they are read again when they are used
    stored.pop(TAGS, None)
    if stored:
        unknown, names = sorted(stored)[0], [setting.name for setting in SETTINGS]
        raise InvalidConfigError(
            f"unknown setting {unknown!r} in {folder / 'config.toml'}"
            + did_you_mean(unknown, names),
            hint="known: " + ", ".join((*names, TAGS)),
            field=unknown,
        )
    return Config(data_dir=folder, origins=origins, **values)


def read_tag_rules(file: Path) -> "tuple[TagRule, ...]":
    """Return the rules that tag files, as they stand in ``config.toml`` now.

    Raises:
        InvalidConfigError: The file cannot be read, or they are not rules.
    """
    return _tag_rules_in(_read_file(file))


def _tag_rules_in(stored: Mapping[str, object]) -> "tuple[TagRule, ...]":
    if TAGS not in stored:
        return ()
    from engine.tag_rules import parse_tag_rules

    return parse_tag_rules(stored[TAGS])


def changed_config(config: Config, settings: Mapping[str, int | str]) -> Config:
    """Return the settings with some of them changed.

    Args:
        config: Those in force.
        settings: New values by name; numbers may be written as text.

    Raises:
        InvalidConfigError: A setting is unknown, of the wrong kind, or out of its range.
    """
    known = {setting.name: setting for setting in SETTINGS}
    values: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in known:
            raise InvalidConfigError(
                f"unknown setting {name!r}" + did_you_mean(name, known),
                hint="known: " + ", ".join(known),
                field=name,
            )
        values[name] = _checked(known[name], value)
    return replace(
        config, origins={**config.origins, **dict.fromkeys(values, Origin.ARGUMENT)}, **values
    )


def environment_of(config: Config) -> dict[str, str]:
    """Return an environment that gives a new process these settings."""
    names = [setting.name for setting in SETTINGS]
    values = {f"CAIRN_{name.upper()}": str(getattr(config, name)) for name in names}
    return {**os.environ, **values, "CAIRN_HOME": str(config.data_dir)}


def _home(data_dir: Path | None) -> tuple[Path | str, Origin]:
    named = os.environ.get("CAIRN_HOME")
    if data_dir:
        return data_dir, Origin.ARGUMENT
    if named:
        return named, Origin.ENVIRONMENT
    import platformdirs  # takes 5 ms, as does tomllib

    return platformdirs.user_data_dir("codecairn"), Origin.DEFAULT


def _given(
    setting: Setting, arguments: Mapping[str, int | str], stored: dict[str, object]
) -> tuple[object, Origin]:
    """Return the strongest value of a setting; remove it from the values of the file."""
    values: tuple[tuple[object, Origin], ...] = (
        (arguments.get(setting.name), Origin.ARGUMENT),
        (os.environ.get(f"CAIRN_{setting.name.upper()}"), Origin.ENVIRONMENT),
        (stored.pop(setting.name, None), Origin.FILE),
    )
    found = next((each for each in values if each[0] is not None), None)
    return found or (setting.default, Origin.DEFAULT)


def _read_file(path: Path) -> dict[str, object]:
    try:
        path.stat()  # what follows is not imported without a file
        import tomllib

        from engine.files import read_small

        return tomllib.loads(read_small(path, MAX_SETTINGS_BYTES).decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:  # not UTF-8, or not TOML
        raise InvalidConfigError(f"cannot read {path}: {error}", field="config.toml") from error


def _checked(setting: Setting, given: object) -> int | str:
    if isinstance(setting.default, str):
        return _checked_text(setting, given)
    wanted = f"a whole number of {setting.unit} from {setting.minimum} to {setting.maximum}"
    try:
        value = int(str(given))
    except ValueError as error:
        raise InvalidConfigError(
            f"{setting.name} is {given!r}, wanted {wanted}", field=setting.name
        ) from error
    if not setting.minimum <= value <= setting.maximum:
        raise InvalidConfigError(f"{setting.name} is {value}, wanted {wanted}", field=setting.name)
    return value


def list_text(given: object) -> object:
    """Return a setting that is a list as one text; what is neither a list nor a text as it is."""
    if isinstance(given, str):
        given = given.split(",")
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        return _COMMA.join(filter(None, map(str.strip, given)))
    return given


def _checked_text(setting: Setting, given: object) -> str:
    given = list_text(given) if setting.is_list else given
    if not isinstance(given, str) or not setting.minimum <= len(given) <= setting.maximum:
        kind = (
            "texts with commas between them, or a list of texts," if setting.is_list else "a text"
        )
        raise InvalidConfigError(
            f"{setting.name} is {given!r}, wanted {kind} of {setting.minimum} to"
            f" {setting.maximum} characters",
            field=setting.name,
        )
    if setting.values and given not in setting.values:
        raise InvalidConfigError(
            f"{setting.name} is {given!r}, wanted one of {', '.join(setting.values)}",
            field=setting.name,
        )
    return given


def embedding_key(url: str) -> Secret:
    """Find the key for an embedding server, empty when there is none.

    ``CAIRN_EMBEDDING_KEY`` goes to whatever server the setting names; ``OPENAI_API_KEY`` and
    ``VOYAGE_API_KEY`` only to those services themselves. Keys stand in no file of this program.

    Raises:
        InvalidConfigError: It has characters that no header can carry.
    """
    name = "CAIRN_EMBEDDING_KEY"
    for start, variable in _KEYS_OF_SERVICES.items():
        if f"{url}/".startswith(start) and name not in os.environ:
            name = variable
    key = os.environ.get(name, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidConfigError(
            f"{name} has characters that no key can have", hint="set it again", field=name
        )
    return Secret(key)


def server_token() -> Secret:
    """Return the token that a server requires, from ``CAIRN_TOKEN``; empty when it is not set.

    Raises:
        InvalidConfigError: It is too short to be one, or no header can carry it.
    """
    token = os.environ.get("CAIRN_TOKEN", "").strip()
    if token and (len(token) < _LEAST_TOKEN_CHARS or not (token.isascii() and token.isprintable())):
        raise InvalidConfigError(
            f"CAIRN_TOKEN is no token: wanted {_LEAST_TOKEN_CHARS} printable characters or more",
            field="CAIRN_TOKEN",
        )
    return Secret(token)


def secrets_set() -> dict[str, bool]:
    """Return the variables that hold keys and tokens, and whether each is set."""
    names = ("CAIRN_TOKEN", "CAIRN_EMBEDDING_KEY", *_KEYS_OF_SERVICES.values())
    return {name: bool(os.environ.get(name, "").strip()) for name in names}


@record
class GitUserFiles:
    """The files with the user's own git settings; they may be missing."""

    config_paths: tuple[str, ...]  # later ones win
    ignore_path: str  # rules for all repositories unless core.excludesFile names another file


def git_user_files() -> GitUserFiles:
    """Find git's files of the user, by HOME, XDG_CONFIG_HOME and GIT_CONFIG_GLOBAL as git does."""
    home = os.path.expanduser("~")
    folder = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git")
    usual = (os.path.join(folder, "config"), os.path.join(home, ".gitconfig"))
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    return GitUserFiles(
        config_paths=(named,) if named else usual,
        ignore_path=os.path.join(folder, "ignore"),
    )
