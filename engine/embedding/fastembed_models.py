"""The models in fastembed's table: which exist, which are on this machine, and downloading one.

Only ``fetch`` uses the network, and only ``cairn model pull`` calls it.
"""

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fastembed import TextEmbedding
from fastembed.common.model_management import CorruptedCacheError
from loguru import logger

from engine.did_you_mean import did_you_mean
from engine.errors import EmbedderUnavailableError, InvalidInputError

_POLL_S = 0.5  # how often the progress of a download is reported
_GIGABYTE = 1_000_000_000
_SIMILARITY_CUTOFF = 0.4  # low, as a name may be typed only in part


class KnownModel(NamedTuple):
    """A model of fastembed's table."""

    name: str
    dimension: int
    size_bytes: int  # approximate, of the download
    licence: str
    source: str  # repository on the Hugging Face hub
    model_file: str
    files: tuple[str, ...]  # needed beside the tokenizer


def known_models() -> list[KnownModel]:
    """List the models by name; those without a repository on the hub are left out."""
    described = TextEmbedding.list_supported_models()
    models = [_known(each) for each in described if each["sources"]["hf"]]
    return sorted(models, key=lambda model: model.name.lower())


def known_model(name: str) -> KnownModel:
    """Return a model by its name, ignoring case.

    Raises:
        InvalidInputError: No model has that name.
    """
    models = known_models()
    for model in models:
        if model.name.lower() == name.strip().lower():
            return model
    names = [model.name for model in models]
    raise InvalidInputError(
        f"no model {name!r} is known" + did_you_mean(name, names, cutoff=_SIMILARITY_CUTOFF),
        hint="cairn model list names them; a folder begins with /, ./ or ~",
        field="model",
    )


def folder_of(model: KnownModel, cache: Path) -> Path | None:
    """Return the folder of a model on this machine, or None.

    Raises:
        EmbedderUnavailableError: Its files are damaged.
    """
    if not cache.is_dir():
        return None
    try:
        return _if_complete(Path(_files(model, cache, local_files_only=True)), model)
    except CorruptedCacheError as error:
        raise EmbedderUnavailableError(
            f"the files of {model.name} are damaged", hint=f"cairn model pull {model.name}"
        ) from error
    except (OSError, ValueError):  # raised by the hub's library if there is none
        return None


def fetch(model: KnownModel, cache: Path, on_bytes: Callable[[int], None]) -> Path:
    """Download a model and return its folder; an interrupted download is resumed.

    Args:
        model: The model.
        cache: The folder for all models, created if missing.
        on_bytes: Called twice a second with the number of bytes received.

    Raises:
        EmbedderUnavailableError: No network, no disk space, or incomplete files.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _reporting_progress(cache, on_bytes):
            folder = _download(model, cache)
    except Exception as error:  # the hub's libraries raise dozens, with four base classes
        raise EmbedderUnavailableError(
            f"cannot download {model.name}: {_reason(error)}",
            hint="is there a network? what has come so far is kept",
        ) from error
    if folder is None:
        raise EmbedderUnavailableError(
            f"the download of {model.name} is incomplete", hint="try again, or choose another model"
        )
    return folder


def _download(model: KnownModel, cache: Path) -> Path | None:
    try:
        found = _if_complete(Path(_files(model, cache, local_files_only=True)), model)
        is_damaged = False
    except CorruptedCacheError:
        found, is_damaged = None, True
    except (OSError, ValueError):
        found, is_damaged = None, False
    if found:
        return found
    more = {"force_download": True} if is_damaged else {}
    return _if_complete(Path(_files(model, cache, local_files_only=False, **more)), model)


@contextmanager
def silenced() -> Iterator[None]:
    """Silence the output of fastembed and the hub's library."""
    logger.disable("fastembed")
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _known(described: dict[str, Any]) -> KnownModel:
    return KnownModel(
        name=described["model"],
        dimension=described["dim"],
        size_bytes=round(described["size_in_GB"] * _GIGABYTE),
        licence=described["license"],
        source=described["sources"]["hf"],
        model_file=described["model_file"],
        files=tuple(described["additional_files"]),
    )


def _files(model: KnownModel, cache: Path, **options: bool) -> str:
    with silenced():
        return TextEmbedding.download_files_from_huggingface(
            model.source,
            cache_dir=str(cache),
            extra_patterns=[model.model_file, *model.files],
            **options,
        )


def _if_complete(folder: Path, model: KnownModel) -> Path | None:
    files = (model.model_file, *model.files)
    return folder if all((folder / file).exists() for file in files) else None


@contextmanager
def _reporting_progress(cache: Path, on_bytes: Callable[[int], None]) -> Iterator[None]:
    """Report how much the folder grows while the block runs."""
    before = _size_of(cache)
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(_POLL_S):
            with suppress(OSError):  # a folder was renamed meanwhile
                on_bytes(max(0, _size_of(cache) - before))

    thread = threading.Thread(target=report, name="model-download-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += 0 if path.is_symlink() else path.stat().st_size
        except OSError:  # renamed meanwhile
            continue
    return total


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return (text[:200] + "…" if len(text) > 200 else text) or type(error).__name__
