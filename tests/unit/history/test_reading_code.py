"""What makes the words of commits is part of what they are made by."""

import ast
from pathlib import Path

import engine
from engine.history.reading import CODE

_ENGINE = Path(engine.__file__).parent
#: What the modules use that makes no words: rules for paths, records, and the readers of git.
_OTHERS = frozenset(
    """
    cancellation.py embedding/embedder.py errors.py files.py source/default_excludes.py
    source/encodings.py source/git.py source/git_files.py source/git_objects.py source/ignore.py
    store/history.py
    """.split()
)


def _imports_of(module: str) -> set[str]:
    tree = ast.parse((_ENGINE / module).read_text("utf-8"))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        f"{name.removeprefix('engine.').replace('.', '/')}.py"
        for name in names
        if name.startswith("engine.")
    }


def test_all_that_makes_the_words_of_commits_counts() -> None:
    used = set[str]().union(*map(_imports_of, CODE))
    assert used - set(CODE) == _OTHERS
