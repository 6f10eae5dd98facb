"""Formats of files: those that are never indexed, by their names, and texts that are only data.

Apart from ``content``, whose patterns only the workers need.
"""

import re
from typing import Final

#: The languages whose files are documents, see ``documents``.
DOCUMENTS: Final = frozenset({"pdf", "docx"})

_LOCK_NAMES = frozenset(
    {
        "brewfile.lock.json",
        "bun.lockb",
        "cabal.project.freeze",
        "cartfile.resolved",
        "gems.locked",
        "go.sum",
        "go.work.sum",
        "npm-shrinkwrap.json",
        "package.resolved",
        "packages.lock.json",
        "project.assets.json",
    }
)
_LOCK_ENDINGS = (".lock", ".lockfile", ".lock.hcl", "-lock.json", "-lock.yaml", "-lock.yml")

#: Extensions of formats that are never text, so that their files need not be read.
BINARY_EXTENSIONS: Final = frozenset(
    """
    .7z .aab .aac .aiff .apk .avi .avif .bmp .bz2 .deb .dll .dmg .docx .dylib .eot .epub .exe .flac
    .gif .gz .hdf5 .heic .icns .ico .ipa .iso .jar .jpeg .jpg .m4a .m4v .mkv .mov .mp3 .mp4 .mpeg
    .mpg .msi .npy .npz .nupkg .odp .ods .odt .ogg .ogv .opus .otf .parquet .pdf .png .pptx .psd
    .pyc .pyd .pyo .rar .rlib .rpm .safetensors .sqlite .sqlite3 .tbz .tgz .tif .tiff .ttf .txz .war
    .wasm .wav .webm .webp .whl .wma .wmv .woff .woff2 .xcf .xlsx .xz .zip .zst
    """.split()
)

_MINIFIED_NAME: Final = re.compile(r"[.-]min\.(?:js|mjs|cjs|css|html|svg)$", re.IGNORECASE)

#: A smaller text of numbers, hexadecimal digits or encoded bytes adds little to an index.
_DATA_MIN_BYTES: Final = 1 << 16
_DATA_SHARE: Final = 0.9
_DATA_WORD: Final = re.compile(
    rb"(?<!\S)(?:[-+*|,.:;()\[\]{}\dA-Fa-fxX]++|[A-Za-z\d+/=_-]{40,}+)(?!\S)"
)


def is_lock_file(path: str) -> bool:
    """Return whether a file, by its name, pins dependencies and holds nothing written by people."""
    name = path[path.rfind("/") + 1 :].lower()
    return name.endswith(_LOCK_ENDINGS) or name in _LOCK_NAMES


def is_binary_name(path: str) -> bool:
    """Return whether a file, by its extension, has a format that is never text."""
    dot = path.rfind(".")
    return dot >= 0 and path[dot:].lower() in BINARY_EXTENSIONS


def is_minified_name(path: str) -> bool:
    """Return whether a file, by its name, is minified."""
    return "min." in path and _MINIFIED_NAME.search(path) is not None


def is_data(text: bytes) -> bool:
    """Return whether a large text holds hardly any words: tables of numbers, dumps, base64.

    Linear in the size; below 0.1 s for 1 MB.
    """
    if len(text) <= _DATA_MIN_BYTES:
        return False
    data_bytes = sum(map(len, _DATA_WORD.findall(text)))
    return data_bytes > _DATA_SHARE * len(b"".join(text.split()))
