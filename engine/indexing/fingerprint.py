"""What makes index contents what they are, as one hash.

Two programs with the same fingerprint make the same rows of the same bytes. When it differs from
the stored one, contents are made again, never migrated.
"""

import functools
from hashlib import sha256
from importlib import metadata, resources

from engine.syntax.languages import grammar_packages

#: The rooms through which a file's bytes pass on their way into rows. Their source is hashed, so
#: that nobody has to remember to raise a version: a needless reindex is cheaper than a stale one.
_ROOMS = ("engine.source", "engine.syntax", "engine.syntax.queries")
#: Modules of ``engine.source`` that only decide which files are read, or read them.
_OUTSIDE = frozenset(
    (
        "__init__.py default_excludes.py folder_rules.py folder_walk.py git.py git_config.py "
        "git_files.py git_index.py globs.py ignore.py links.py names.py open_folders.py "
        "partial_walk.py patterns.py probe.py reader.py roots.py rule_files.py shift_and.py "
        "walker.py wildmatch.py"
    ).split()
)


def _shapes_contents(room: str, name: str) -> bool:
    if room == "engine.source" and name in _OUTSIDE:
        return False
    return name.endswith((".py", ".scm"))


@functools.cache
def fingerprint() -> str:
    """Give the fingerprint of this program, 16 hexadecimal digits."""
    digest = sha256()
    for room in _ROOMS:
        for item in sorted(resources.files(room).iterdir(), key=lambda item: item.name):
            if _shapes_contents(room, item.name):
                digest.update(f"\0{item.name}\0".encode())
                digest.update(item.read_bytes())
    for package in ("tree-sitter", "charset-normalizer", *grammar_packages()):
        digest.update(f"{package}={metadata.version(package)};".encode())
    return digest.hexdigest()[:16]
