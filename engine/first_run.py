"""Prepare the first indexing of a folder, before the rest of the program is loaded.

Imports little: ``cairn index`` calls it before it imports the catalog.
"""

import os
from collections import Counter, deque
from contextlib import suppress
from itertools import islice
from typing import Final

from engine.config import Config
from engine.embedding.model_setting import Backend
from engine.errors import UnavailableError
from engine.indexing.fork_server import ForkServer
from engine.roots import database_of, resolve, upwards

#: Names and folders of a tree that are looked at to guess its main language.
_NAMES: Final = 400
_FOLDERS: Final = 40


def start_fork_server(config: Config, path: str) -> ForkServer | None:
    """Start the fork server if a folder is about to be indexed for the first time.

    It loads what workers need, with the grammar of the language that most files seem to have, while
    this process loads the rest and walks the folder. Where the folder or one above it is indexed,
    perhaps nothing has changed and no worker is needed.
    """
    if config.model != Backend.STATIC or not os.path.isdir(path):
        return None
    if any(database_of(config.data_dir, each).exists() for each in upwards(resolve(path))):
        return None
    server = ForkServer(loads_model=True, is_early=True)
    with suppress(UnavailableError):  # the first file says so
        server.start()
        server.load(_main_languages(path))
    return server


def _main_languages(root: str) -> list[str]:
    """Guess the language with a grammar of most files below a folder; return none if none has."""
    from engine.syntax.languages import LANGUAGES, language_of  # once the server is on its way

    found = Counter(filter(None, map(language_of, _first_names(root))))
    return [each for each, _ in found.most_common() if LANGUAGES[each].grammar][:1]


def _first_names(root: str) -> list[str]:
    """Return names of files below a folder, from the top down, as far as they can be read.

    Folders that are never indexed are left out: what a project depends on can be most of its files.
    """
    from engine.source.default_excludes import ALWAYS  # once the server is on its way

    names: list[str] = []
    folders = deque([root])
    for _ in range(_FOLDERS):
        if not folders or len(names) >= _NAMES:
            break
        with suppress(OSError), os.scandir(folders.popleft()) as entries:
            for entry in islice(entries, _NAMES):
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in ALWAYS:
                        folders.append(entry.path)
                else:
                    names.append(entry.name)
    return names
