"""The end of ``make start``, after indexing: run a sample search, then serve.

Run as ``python -m web.cli.first_steps ROOT BIN``; BIN is the folder that holds ``cairn``.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator

from engine.catalog import Catalog
from engine.config import load_config
from engine.project import Project
from engine.roots import real_path
from engine.search_records import SymbolHit
from web.cli.main import run

# Names that begin with a verb and go on make the best questions: "load config".
_VERBS = (
    "parse", "load", "read", "find", "create", "build", "resolve", "search", "render", "handle",
    "open", "write", "send", "make", "check", "get", "run", "is", "to", "on", "new", "with",
)  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_NAMES_LOOKED_AT = 100


def sample_query(index: Project) -> str:
    """Return a query with results: the words in the name of a documented definition.

    Without such a definition it is the name of the project's folder.
    """
    fallback = os.path.basename(index.root) or "main"
    for hit in _definitions(index):
        words = _WORDS.findall(hit.name)
        if len(words) > 1 and hit.exported and "test" not in hit.path.lower():
            query = " ".join(words).lower()
            if hit.doc:
                return query
            fallback = query
    return fallback


def _definitions(index: Project) -> Iterator[SymbolHit]:
    for verb in _VERBS:
        yield from index.symbols(verb, match="prefix", limit=_NAMES_LOOKED_AT)


def next_steps(root: str, folder: str) -> str:
    """Return the commands to try next, ready to be copied.

    Args:
        root: The project that was indexed.
        folder: The folder of the command ``cairn``.
    """
    project = "" if root == os.getcwd() else f" --project {shlex.quote(root)}"
    return f"""
Next. Put cairn on the PATH of this shell (and in your shell's profile, to keep it):

  export PATH={shlex.quote(folder)}:"$PATH"

  cairn search "what you are looking for"{project}
  cairn symbols NAME{project}
  cairn status{" " + shlex.quote(root) if project else ""}
  cairn index ANOTHER_FOLDER
  cairn --help
"""


def main(arguments: list[str]) -> int:
    """Search the project once, print next steps, serve until Ctrl-C, and return the exit code.

    All projects are served, so that a folder indexed from the web page is searched and watched as
    well. If a server is already running, none is started.
    """
    root, folder = real_path(arguments[0]), arguments[1]
    with Catalog(load_config()) as catalog:
        query = sample_query(catalog.open(root))
        url = catalog.server_url()
    code = _run_shown("search", query, "--project", root, "--limit", "3", "--max-tokens", "400")
    sys.stdout.write(next_steps(root, folder))
    if code:
        return code
    if url:
        sys.stdout.write(f"\nCodeCairn is already serving on {url}.\n")
        return 0
    return _run_shown("serve")


def _run_shown(*command: str) -> int:
    """Print a command, run it and return its exit code."""
    sys.stdout.write(f"\n$ cairn {shlex.join(command)}\n\n")
    sys.stdout.flush()
    return run(list(command))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
