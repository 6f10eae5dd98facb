"""Why is this file not found? The outcome of a path, in words, with what to do."""

import os
import uuid

from engine.clock import iso_time
from engine.config import LARGEST_FILE_BYTES
from engine.errors import InvalidPathError
from engine.records import PathExplanation, SkipReason, display_path
from engine.source.reader import TreeReader
from engine.store import files
from engine.store.connection import Handle
from engine.store.files import FileFacts

#: What to do about a skip.
ADVICE = {
    SkipReason.IGNORED: "un-ignore it with a ! rule in .cairnignore",
    SkipReason.EXCLUDED: "index again with other --exclude patterns",
    SkipReason.NOT_INCLUDED: "index again with an --include pattern that matches it",
    SkipReason.DEFAULT_EXCLUDED: "name it with --include, or with a ! rule in .cairnignore",
    SkipReason.SECRET_FILE: "its name says keys or credentials; rename it if it holds none",
    SkipReason.UNKNOWN_TYPE: "name it with --include to index it as plain text",
    SkipReason.LOCK_FILE: "lock files are made by tools and crowd out answers",
    SkipReason.TOO_LARGE: "raise --max-size (10 MB at most)",
    SkipReason.BINARY: "only text is indexed",
    SkipReason.MINIFIED: "index its source instead",
    SkipReason.LFS_POINTER: "fetch its content: git lfs pull",
    SkipReason.UNDECODABLE: "save it as UTF-8",
    SkipReason.NOT_REGULAR: "only regular files are read",
    SkipReason.SYMLINK_OUTSIDE: "nothing outside the root is read",
    SkipReason.SYMLINK_BROKEN: "the link leads nowhere",
    SkipReason.SYMLINK_CYCLE: "the folder is indexed where it really is",
    SkipReason.SYMLINK_REPEATED: "the folder is indexed under the first link",
    SkipReason.TOO_DEEP: "index a folder farther down",
    SkipReason.UNREADABLE: "make it readable, then index again",
    SkipReason.VANISHED: "it was gone when it was to be read; index again",
    SkipReason.CHANGING: "it changed while it was read; index again",
    SkipReason.PARSER_FAILED: "please report it as a defect",
}


def explain_path(handle: Handle, branch_id: int, root: str, path: str) -> PathExplanation:
    """Explain the outcome of a path on a branch.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        root: The resolved root.
        path: Relative to the root; "" is the root itself.
    """
    facts = files.read_file(handle, branch_id, path)
    skip = files.read_skip(handle, branch_id, path)
    exists = os.path.lexists(os.path.join(root, path))
    if facts and skip:
        detail = f"indexed earlier, but now {skip.reason.value}: {skip.detail}"
        return _indexed(path, facts, detail, is_fresh=False)
    if facts:
        is_fresh = _is_fresh(root, path, facts)
        detail = "indexed and up to date"
        if not is_fresh:
            change = "changed on the disk" if exists else "gone from the disk"
            detail = f"indexed, but {change} since: index again"
        return _indexed(path, facts, detail, is_fresh=is_fresh)
    rule_path = None
    if skip is None:
        for folder in _folders_above(path):
            skip = files.read_skip(handle, branch_id, folder)
            if skip and skip.is_folder:
                rule_path = display_path(folder)
                break
            skip = None
    if skip:
        detail = f"{skip.detail}: {ADVICE[skip.reason]}" if skip.detail else ADVICE[skip.reason]
        return PathExplanation(
            path=display_path(path),
            outcome="skipped",
            reason=skip.reason.value,
            detail=detail,
            rule_path=rule_path,
            fresh=None,
        )
    return _unknown(path, exists=exists, is_folder=os.path.isdir(os.path.join(root, path)))


def _is_fresh(root: str, path: str, facts: FileFacts) -> bool:
    try:
        with TreeReader(root) as reader:
            if reader.stat_of(path) == facts.stat:
                return True
            return reader.hash_of(path, LARGEST_FILE_BYTES) == facts.content_hash
    except InvalidPathError:  # the root is gone or closed
        return False


def _indexed(path: str, facts: FileFacts, detail: str, *, is_fresh: bool) -> PathExplanation:
    return PathExplanation(
        path=display_path(path),
        outcome="indexed",
        reason=None,
        detail=detail,
        rule_path=None,
        fresh=is_fresh,
        facts={
            "id": str(uuid.UUID(bytes=facts.uuid)),
            "language": facts.language,
            "size_bytes": facts.size_bytes,
            "lines": facts.line_count,
            "tokens": facts.token_count,
            "encoding": facts.encoding,
            "parse": facts.parse_result,
            "generated": bool(facts.is_generated),
            "generator": facts.generator,
            "licence": facts.licence,
            "redactions": facts.redactions,
            "symbols": facts.symbols,
            "chunks": facts.chunks,
            "sha256": facts.content_hash.hex(),
            "created_at": iso_time(facts.created_at_ms),
            "updated_at": iso_time(facts.updated_at_ms),
        },
    )


def _unknown(path: str, *, exists: bool, is_folder: bool) -> PathExplanation:
    outcome, detail = "missing", "there is no such path on the disk or in the index"
    if is_folder:
        outcome, detail = "folder", "a folder of the project: ask for a file in it"
    elif exists:
        outcome, detail = "not_seen", "it came after the last indexing run: index again"
    return PathExplanation(
        path=display_path(path),
        outcome=outcome,
        reason=None,
        detail=detail,
        rule_path=None,
        fresh=None,
    )


def _folders_above(path: str) -> list[str]:
    folders = []
    while path := path.rpartition("/")[0]:
        folders.append(path)
    return folders
