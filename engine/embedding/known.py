"""The models that fastembed knows: which there are, which are on this machine, and to fetch one.

Only ``fetch`` ever uses the network, and only ``cairn model pull`` calls it.
"""

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fastembed import TextEmbedding
from fastembed.common.model_management import CorruptedCacheError
from loguru import logger

from engine.did_you_mean import did_you_mean
from engine.errors import EmbedderUnavailableError, InvalidInputError

_LOOK_S = 0.5  # how often the progress of a download is told
_GIGABYTE = 1_000_000_000
_LIKENESS = 0.4  # of a name that is typed in part only


class KnownModel(NamedTuple):
    """A model of fastembed's table."""

    name: str
    dimension: int
    size_bytes: int  # about, of the download
    licence: str
    source: str  # repository on the Hugging Face hub
    model_file: str
    files: tuple[str, ...]  # what it needs beside the tokenizer


def known_models() -> list[KnownModel]:
    """List the models by name; those without a repository on the hub are left out."""
    described = TextEmbedding.list_supported_models()
    models = [_known(each) for each in described if each["sources"]["hf"]]
    return sorted(models, key=lambda model: model.name.lower())


def known_model(name: str) -> KnownModel:
    """Find a model by its name, in upper or lower case.

    Raises:
        InvalidInputError: There is none of that name.
    """
    models = known_models()
    for model in models:
        if model.name.lower() == name.strip().lower():
            return model
    names = [model.name for model in models]
    raise InvalidInputError(
        f"no model {name!r} is known" + did_you_mean(name, names, cutoff=_LIKENESS),
        hint="cairn model list names them; a folder begins with /, ./ or ~",
        field="model",
    )


def folder_of(model: KnownModel, cache: Path) -> Path | None:
    """Find a model on this machine; None when it is not there.

    Raises:
        EmbedderUnavailableError: It is there and not whole.
    """
    if not cache.is_dir():
        return None
    try:
        return _whole(Path(_files(model, cache, local_files_only=True)), model)
    except CorruptedCacheError as error:
        raise EmbedderUnavailableError(
            f"the files of {model.name} are damaged", hint=f"cairn model pull {model.name}"
        ) from error
    except (OSError, ValueError):  # what the hub's library says when it has none
        return None


def fetch(model: KnownModel, cache: Path, on_bytes: Callable[[int], None]) -> Path:
    """Download a model; what is there already stays, and a broken download goes on.

    Args:
        model: Which one.
        cache: The folder for all models, made when it is not there.
        on_bytes: Told twice a second how many bytes have come.

    Raises:
        EmbedderUnavailableError: No network, no room, or not what was promised.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _telling(cache, on_bytes):
            folder = _fetched(model, cache)
    except Exception as error:  # the hub's libraries have dozens, of four roots
        raise EmbedderUnavailableError(
            f"cannot download {model.name}: {_reason(error)}",
            hint="is there a network? what has come so far is kept",
        ) from error
    if folder is None:
        raise EmbedderUnavailableError(
            f"the download of {model.name} lacks files", hint="try again, or choose another model"
        )
    return folder


def _fetched(model: KnownModel, cache: Path) -> Path | None:
    try:
        found = _whole(Path(_files(model, cache, local_files_only=True)), model)
        is_damaged = False
    except CorruptedCacheError:
        found, is_damaged = None, True
    except (OSError, ValueError):
        found, is_damaged = None, False
    if found:
        return found
    more = {"force_download": True} if is_damaged else {}
    return _whole(Path(_files(model, cache, local_files_only=False, **more)), model)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep fastembed and the hub's library from writing into the middle of an answer."""
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
    with quiet():
        return TextEmbedding.download_files_from_huggingface(
            model.source,
            cache_dir=str(cache),
            extra_patterns=[model.model_file, *model.files],
            **options,
        )


def _whole(folder: Path, model: KnownModel) -> Path | None:
    files = (model.model_file, *model.files)
    return folder if all((folder / file).exists() for file in files) else None


@contextmanager
def _telling(cache: Path, on_bytes: Callable[[int], None]) -> Iterator[None]:
    """Tell how much the folder grows, while the block runs."""
    before = _size_of(cache)
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(_LOOK_S):
            on_bytes(max(0, _size_of(cache) - before))

    thread = threading.Thread(target=tell, name="model-download-progress", daemon=True)
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
