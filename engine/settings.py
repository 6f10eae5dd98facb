"""Every setting once: its name, default, range, unit and help, and where a value can come from.

The table alone; ``config`` reads the values.
"""

from dataclasses import dataclass
from enum import StrEnum

MIB = 1 << 20
#: No file above this is ever read, whatever the settings say.
LARGEST_FILE_BYTES = 10 * MIB


class Origin(StrEnum):
    """Where the value of a setting comes from, the strongest first."""

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


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "model",
        "static",
        1,
        1000,
        "text",
        "what finds by meaning: static (built in), none, onnx:NAME, or a server",
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
        "of an onnx model on the processor; 0 means one per usable core",
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
    Setting("workers", 0, 0, 64, "processes", "parsing processes; 0 means one per usable core"),
    Setting(
        "worker_memory",
        1024 * MIB,
        256 * MIB,
        65_536 * MIB,
        "bytes",
        "address space of a parsing process; what needs more is not parsed",
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
        "parse_timeout", 1000, 50, 60_000, "ms", "a file that parses longer falls back to lines"
    ),
    Setting("busy_timeout", 5000, 0, 600_000, "ms", "how long to wait for a locked database"),
    Setting(
        "batch_bytes", MIB // 2, 65_536, 64 * MIB, "bytes", "source written in one transaction"
    ),
    Setting(
        "queue_bytes", 32 * MIB, MIB, 1024 * MIB, "bytes", "source in flight between processes"
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
        "a search by pattern gives what it has found by then",
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
    Setting("port", 7331, 0, 65_535, "port", "of `cairn serve`; 0 means any free one"),
)
