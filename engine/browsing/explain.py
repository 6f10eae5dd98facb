"""Why a path is found or not: its outcome in words, with advice.

The next run's outcome is predicted from the rules of the walk, then from those of the content.
"""

import math
import os
import re
import uuid
from typing import NamedTuple

from engine.browse_records import PathExplanation
from engine.clock import iso_time
from engine.config import LARGEST_FILE_BYTES
from engine.errors import EngineError, InvalidPathError
from engine.history.former_names import followed
from engine.indexing.scan import language_or_skip, skip_by_name
from engine.records import (
    FileEntry,
    FileStat,
    HistoryExtent,
    Skip,
    SkipReason,
    display_path,
    stored_commits,
)
from engine.roots import real_path
from engine.search.features import factor_part, path_factors
from engine.search.file_tags import NO_RULES, TagRules
from engine.search.weights import DOCUMENT_FACTOR
from engine.source.content import NOTEBOOK_LANGUAGE, inspect
from engine.source.documents import document_language
from engine.source.ignore import Globs
from engine.source.partial_walk import probe
from engine.source.reader import Content, TreeReader
from engine.source.secret_files import is_secret_file
from engine.source.walker import WalkRules
from engine.store import files, history, models
from engine.store.connection import Handle
from engine.store.files import FileFacts
from engine.syntax.languages import DOCUMENT_LANGUAGES

_MOST_AUTHORS = 5
_NO_STAT = FileStat(0, 0, 0, 0)

#: What to do about a skip.
ADVICE = {
    SkipReason.IGNORED: "un-ignore it with a ! rule in .cairnignore",
    SkipReason.EXCLUDED: "index again with other --exclude patterns",
    SkipReason.NOT_INCLUDED: "index again with an --include pattern that matches it",
    SkipReason.DEFAULT_EXCLUDED: "name it with --include, or with a ! rule in .cairnignore",
    SkipReason.SECRET_FILE: "its name suggests keys or credentials; rename it if it has none, or"
    " name it in the setting allow_secret_files",
    SkipReason.UNKNOWN_TYPE: "tables of numbers and encoded data crowd out answers",
    SkipReason.LOCK_FILE: "lock files are made by tools and crowd out answers",
    SkipReason.TOO_LARGE: "raise --max-size (10 MB at most)",
    SkipReason.BINARY: "only text is indexed",
    SkipReason.MISSING_EXTRA: "install it, then index again: pip install 'codecairn[documents]'",
    SkipReason.NO_TEXT: "save it again as a document with text and without a password",
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

#: What a parser's result means for searches.
PARSE_RESULTS = {
    "ok": "all definitions are symbols",
    "errors": "parts do not fit the grammar: definitions there may be missing as symbols, "
    "all words are searched",
    "timeout": "it took longer than the setting parse_timeout: no symbols, all words are searched",
    "too_deep": "nested too deep: inner definitions are no symbols, all words are searched",
    "failed": "it cost its parser: no symbols, all words are searched",
    "no_grammar": "no definitions are told apart in this language, or in so large a data file; "
    "all words are searched",
}

_WHOLE = frozenset({"ok", "no_grammar"})


def gap_of(parse_result: str) -> str:
    """Say why definitions of a file may be missing as symbols; nothing if none can."""
    if parse_result in _WHOLE:
        return ""
    return PARSE_RESULTS.get(parse_result, "").partition(", all words")[0]


_OF_LINKS = frozenset(
    {SkipReason.SYMLINK_OUTSIDE, SkipReason.SYMLINK_BROKEN, SkipReason.UNREADABLE}
)

#: How a rule file and its line stand in the detail of a skip.
_RULE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?:: (?P<rule>.*))?", re.DOTALL)


class Forecast(NamedTuple):
    """The outcome of a path in a run that would start now."""

    skip: Skip | None  # None: nothing refuses it
    language: str | None  # of a file that would be indexed, as far as that can be told
    exists: bool


def forecast(root: str, rules: WalkRules, path: str) -> Forecast | None:
    """Predict what a run would do; None if the root cannot be read.

    Nothing is parsed: a file that kills its parser is not predicted.

    Args:
        root: The resolved root.
        rules: The project's stored scope.
        path: Relative to the root, not empty; need not exist.
    """
    try:
        found = probe(root, rules, path)
        outcome = found.outcome
        if isinstance(outcome, Skip):
            return Forecast(outcome, None, found.exists)
        if outcome is None and found.exists:
            return Forecast(None, None, exists=True)  # a folder
        entry = outcome or FileEntry(path, _NO_STAT, path)
        by_name = skip_by_name(entry)
        if by_name is not None:
            return Forecast(by_name, None, found.exists)
        data, stat = b"\n", _NO_STAT  # of a file that is not there only the name counts
        if outcome is not None:
            with TreeReader(root) as reader:
                content = reader.read(outcome, rules.max_file_size_bytes or LARGEST_FILE_BYTES)
            if isinstance(content, Skip):
                return Forecast(content, None, exists=True)
            data, stat = content
        return _by_content(path, Content(data, stat), rules, exists=found.exists)
    except EngineError:
        return None


def _by_content(path: str, content: Content, rules: WalkRules, *, exists: bool) -> Forecast:
    data, stat = content
    language = language_or_skip(path, data, stat)
    if isinstance(language, Skip):
        return Forecast(language if exists else None, None, exists)
    if document_language(path) == language:  # its text is read by workers alone
        return Forecast(None, language, exists)
    inspected = inspect(path, data, language)
    if isinstance(inspected, Skip):
        return Forecast(inspected, None, exists)
    return Forecast(None, language, exists)


def explain_path(
    handle: Handle,
    branch_id: int,
    root: str,
    path: str,
    rules: WalkRules,
    file_tags: TagRules = NO_RULES,
) -> PathExplanation:
    """Explain the outcome of a path on a branch, and what the next run would make of it.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        root: The resolved root.
        path: Relative to the root; "" is the root itself.
        rules: The project's stored scope.
        file_tags: The rules that tag files.
    """
    exists = os.path.lexists(os.path.join(root, path))
    foreseen = forecast(root, rules, path) if path else None
    facts = files.read_file(handle, branch_id, path)
    skip = files.read_skip(handle, branch_id, path)
    if facts:
        explanation = _indexed(root, path, facts, skip, foreseen)
        explanation.facts["embedded"] = models.is_embedded(handle, facts.blob_id)
        explanation.facts["tags"] = list(file_tags.of(path, facts.language))
        explanation.facts["allowed_by"] = _allowed_by(root, path, rules)
        explanation.facts["authors"] = _authors_of(handle, path)
        explanation.facts["authors_among"] = _authors_among(handle)
        return explanation
    folder = path if skip else _skipped_folder_above(handle, branch_id, path)
    if folder:
        skip = skip or files.read_skip(handle, branch_id, folder)
    if skip:
        return _skipped(path, skip, foreseen, rules)
    if exists and os.path.isdir(os.path.join(root, path)):
        return _folder(handle, branch_id, path, foreseen)
    return _unknown(path, foreseen, exists=exists)


def _indexed(
    root: str, path: str, facts: FileFacts, skip: Skip | None, foreseen: Forecast | None
) -> PathExplanation:
    is_fresh = skip is None and _is_fresh(root, path, facts)
    detail = "indexed and up to date"
    if skip:
        detail = f"indexed earlier, but now {skip.reason.value}: {skip.detail}"
    elif not is_fresh:
        is_there = os.path.lexists(os.path.join(root, path))
        does = "changed on the disk" if is_there else "gone from the disk"
        follows = "updates it" if is_there else "removes it"
        detail = f"indexed, but {does} since: cairn index {follows}"
    shown_facts = _facts_of(path, facts)
    is_same = is_fresh and foreseen is not None and foreseen.skip is None
    shown_facts["next_run"] = _next_run(foreseen, is_known=True, is_same=is_same)
    if facts.language == NOTEBOOK_LANGUAGE and facts.size_bytes != facts.stat.size_bytes:
        shown_facts["stored_as"] = (
            "the text of its cells without outputs; line numbers are of that text"
        )
    if document_language(path) == facts.language:
        shown_facts["stored_as"] = "its text by page or heading; line numbers are of that text"
    return PathExplanation(
        path=display_path(path),
        outcome="indexed",
        reason=None,
        detail=detail,
        rule_path=None,
        fresh=is_fresh,
        facts=shown_facts,
    )


def _allowed_by(root: str, path: str, rules: WalkRules) -> str:
    """Say which setting admits a file whose name is a secret one; empty for any other file."""
    target = os.path.relpath(real_path(os.path.join(root, path)), root)
    allowed = Globs.compile(rules.allow_secret_files, field="allow_secret_files")
    for place in (path, target):
        glob = allowed.match(place, is_dir=False) if is_secret_file(place) else None
        if glob is not None:
            return f"{glob} in the setting allow_secret_files"
    return ""


def _authors_of(handle: Handle, path: str) -> list[dict[str, object]]:
    """Return who changed a file, by the stored commits, those of most commits first."""
    found = history.read_authors_among(handle, followed(handle, os.fsencode(path)).ids)
    return [
        {"name": each.name, "commits": each.commits, "last_at": iso_time(each.last_s * 1000)}
        for each in found[:_MOST_AUTHORS]
    ]


def _authors_among(handle: Handle) -> str:
    """Return among which commits the authors are counted; empty: all of the history."""
    extent, number = history.read_extent(handle), history.count_commits(handle)
    return stored_commits(number, extent) if number and extent is not HistoryExtent.ALL else ""


def _is_fresh(root: str, path: str, facts: FileFacts) -> bool:
    try:
        with TreeReader(root) as reader:
            if reader.stat_of(path) == facts.stat:
                return True
            return reader.hash_of(path, LARGEST_FILE_BYTES) == facts.content_hash
    except InvalidPathError:  # the root is gone or closed
        return False


def _facts_of(path: str, facts: FileFacts) -> dict[str, object]:
    factors = path_factors(path, is_generated=bool(facts.is_generated))
    if facts.language in DOCUMENT_LANGUAGES:
        factors = (*factors, factor_part("document", DOCUMENT_FACTOR))
    return {
        "id": str(uuid.UUID(bytes=facts.uuid)),
        "language": facts.language,
        "size_bytes": facts.size_bytes,
        "file_bytes": facts.stat.size_bytes,
        "lines": facts.line_count,
        "tokens": facts.token_count,
        "encoding": facts.encoding,
        "parse": facts.parse_result,
        "parse_detail": PARSE_RESULTS.get(facts.parse_result, ""),
        "generated": bool(facts.is_generated),
        "generator": facts.generator,
        "licence": facts.licence,
        "redactions": facts.redactions,
        "symbols": facts.symbols,
        "chunks": facts.chunks,
        "rank_factor": round(math.prod(part.value for part in factors), 4),
        "rank_reasons": [part.why for part in factors],
        "sha256": facts.content_hash.hex(),
        "created_at": iso_time(facts.created_at_ms),
        "updated_at": iso_time(facts.updated_at_ms),
    }


def _skipped_folder_above(handle: Handle, branch_id: int, path: str) -> str:
    """Return the folder or link above a path that is skipped with all below it; empty: none is."""
    while path := path.rpartition("/")[0]:
        skip = files.read_skip(handle, branch_id, path)
        if skip and (skip.is_folder or skip.reason in _OF_LINKS):
            return path
    return ""


def _skipped(path: str, skip: Skip, foreseen: Forecast | None, rules: WalkRules) -> PathExplanation:
    shown_facts: dict[str, object] = {"is_folder": skip.is_folder}
    if skip.stat is not None:
        shown_facts["size_bytes"] = skip.stat.size_bytes
    if skip.reason is SkipReason.TOO_LARGE:
        shown_facts["limit_bytes"] = rules.max_file_size_bytes or LARGEST_FILE_BYTES
    rule = _RULE.fullmatch(skip.detail) if skip.reason is SkipReason.IGNORED else None
    if rule is not None:
        shown_facts |= {
            "rule_file": rule["file"],
            "rule_line": int(rule["line"]),
            "rule": rule["rule"],
        }
    again = foreseen is not None and foreseen.skip is not None and foreseen.skip[:3] == skip[:3]
    is_given_up = skip.reason is SkipReason.PARSER_FAILED  # until the file changes
    shown_facts["next_run"] = _next_run(foreseen, is_known=True, is_same=again or is_given_up)
    return PathExplanation(
        path=display_path(path),
        outcome="skipped",
        reason=skip.reason.value,
        detail=_advised(skip),
        rule_path=display_path(skip.path) if skip.path != path else None,
        fresh=None,
        facts=shown_facts,
    )


def _advised(skip: Skip) -> str:
    is_of_git = skip.detail.startswith(".git:") or skip.detail.endswith(" .git")
    advice = "never indexed" if is_of_git else ADVICE[skip.reason]
    return f"{skip.detail}; {advice}" if skip.detail else advice


def _folder(
    handle: Handle, branch_id: int, path: str, foreseen: Forecast | None
) -> PathExplanation:
    if path:
        indexed, refused = files.count_below(handle, branch_id, path)
    else:
        indexed = files.count_files(handle, branch_id)
        refused = files.count_skips(handle, branch_id)
    detail = "a folder of the project: ask for a file in it"
    if foreseen is not None and foreseen.skip is not None:
        detail = f"the next run would skip this folder: {_advised(foreseen.skip)}"
    return PathExplanation(
        path=display_path(path),
        outcome="folder",
        reason=None,
        detail=detail,
        rule_path=None,
        fresh=None,
        facts={"files": indexed, "skips": refused},
    )


def _unknown(path: str, foreseen: Forecast | None, *, exists: bool) -> PathExplanation:
    outcome, detail = "missing", "there is no such path on disk or in the index"
    if exists:
        outcome, detail = "not_seen", "it came after the last indexing run: index again"
    next_run = _next_run(foreseen, is_known=False, is_same=False)
    if foreseen is not None and (foreseen.skip is not None or not exists):
        plan = f"the next run would {_planned_action(path, foreseen)}"
        detail = (
            f"it came after the last indexing run; {plan}"
            if exists
            else f"{detail}; if it existed, {plan}"
        )
    return PathExplanation(
        path=display_path(path),
        outcome=outcome,
        reason=None,
        detail=detail,
        rule_path=None,
        fresh=None,
        facts={"next_run": next_run},
    )


def _planned_action(path: str, foreseen: Forecast) -> str:
    skip = foreseen.skip
    if skip is not None:
        place = f"the folder {display_path(skip.path)}" if skip.path != path else "it"
        return f"skip {place} as {skip.reason.value.replace('_', ' ')}: {_advised(skip)}"
    return f"index it as {foreseen.language}" if foreseen.language else "look into it"


def _next_run(
    foreseen: Forecast | None, *, is_known: bool, is_same: bool
) -> dict[str, object] | None:
    """Return what the next run does with a path; None if that cannot be predicted.

    Args:
        foreseen: What the rules and the content say now.
        is_known: The path is indexed or skipped.
        is_same: What is stored of it still holds.
    """
    if foreseen is None:
        return None
    skip, language, exists = foreseen
    if not exists:
        does = "remove" if is_known else "nothing"
    elif is_same:
        does = "nothing"
    else:
        does = "skip" if skip else "index"
    return {
        "does": does,
        "language": language,
        "reason": skip.reason.value if skip else None,
        "detail": _advised(skip) if skip else "",
        "rule_path": display_path(skip.path) if skip else None,
    }
