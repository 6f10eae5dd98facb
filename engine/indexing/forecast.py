"""What the next run would do with one path: the rules of the walk, then those of the content."""

from typing import NamedTuple

from engine.errors import EngineError
from engine.indexing.scan import language_or_skip, skip_by_name
from engine.records import FileEntry, FileStat, Skip
from engine.settings import LARGEST_FILE_BYTES
from engine.source.content import inspect
from engine.source.probe import probe
from engine.source.reader import Content, TreeReader
from engine.source.walker import WalkRules

_NO_STAT = FileStat(0, 0, 0, 0)


class Forecast(NamedTuple):
    """What a run that started now would do with a path."""

    skip: Skip | None  # None: nothing refuses it
    language: str | None  # of a file that would be indexed, as far as that can be told
    exists: bool


def forecast(root: str, rules: WalkRules, path: str) -> Forecast | None:
    """Say what a run would do; None when that cannot be told, as the root cannot be read.

    Nothing is parsed: whether a file kills its parser is not foreseen.

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
        by_name = skip_by_name(entry, any_text=bool(rules.include))
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
    language = language_or_skip(path, data, stat, any_text=bool(rules.include))
    if isinstance(language, Skip):
        return Forecast(language if exists else None, None, exists)
    inspected = inspect(path, data, language)
    if isinstance(inspected, Skip):
        return Forecast(inspected, None, exists)
    return Forecast(None, language, exists)
