"""Do the keyword indexes hold the words of the texts and of the paths?

Which rows there are is compared for all. Whether a row holds the words it should is asked of a
sample, evenly spread: to ask for all would take as long as to index them anew.
"""

from collections.abc import Callable, Iterator, Sequence

from engine.doctor.trouble import MOST_PLACES, Trouble
from engine.doctor_records import FindingCode
from engine.errors import Cancelled, IndexCorruptError
from engine.indexing.backfill import passages_of
from engine.indexing.batch import path_terms_of
from engine.records import display_path
from engine.store import checks
from engine.store.connection import Handle, Store
from engine.store.passages import read_pieces

_SAMPLE = 200
_AT_ONCE = 50


def word_troubles(store: Store, cancelled: Callable[[], bool]) -> Iterator[Trouble]:
    """Give what is wrong with the words of chunks."""
    with store.read() as handle, checks.stoppable(handle, cancelled):
        lost, missing = checks.read_lost_words(handle), checks.read_wordless(handle)
        sample = checks.read_sample(handle, "chunks", _SAMPLE)
        places = _places(handle, missing)
    if lost:
        message = f"Found words of {len(lost):,} chunks that are gone"
        yield Trouble(FindingCode.WORDS_LOST, message, len(lost), tuple(lost))
    if missing:
        message = f"Found {len(missing):,} chunks that cannot be found by their words"
        yield Trouble(FindingCode.WORDS_MISSING, message, len(missing), tuple(missing), (), places)
    wrong = _with_other_words(store, sorted(set(sample) - set(missing)), cancelled)
    if wrong:
        with store.read() as handle:
            places = _places(handle, wrong)
        message = (
            f"Found {len(wrong):,} of {len(sample):,} chunks, a sample, that are not found by all"
            " of their words"
        )
        yield Trouble(FindingCode.WORDS, message, len(wrong), tuple(wrong), (), places)


def path_troubles(store: Store, cancelled: Callable[[], bool]) -> Iterator[Trouble]:
    """Give what is wrong with the words of paths."""
    with store.read() as handle, checks.stoppable(handle, cancelled):
        lost, missing = checks.read_lost_paths(handle), checks.read_pathless(handle)
        sample = checks.read_sample(handle, "files", _SAMPLE)
        paths = checks.read_paths(handle, sample + missing[:MOST_PLACES])
        wrong = [
            file_id
            for file_id in sorted(set(sample) - set(missing))
            if not checks.has_path_words(handle, file_id, path_terms_of(paths[file_id]))
        ]
    for code, ids, message in (
        (FindingCode.PATHS_LOST, lost, "Found paths of {} files that are gone"),
        (FindingCode.PATHS_MISSING, missing, "Found {} files that cannot be found by their path"),
        (FindingCode.PATHS, wrong, "Found {} files that are not found by all words of their path"),
    ):
        if ids:
            places = tuple(display_path(paths[id_]) for id_ in ids[:MOST_PLACES] if id_ in paths)
            yield Trouble(code, message.format(f"{len(ids):,}"), len(ids), tuple(ids), (), places)


def _with_other_words(
    store: Store, chunk_ids: Sequence[int], cancelled: Callable[[], bool]
) -> list[int]:
    """Give those of some chunks that do not find themselves by their words.

    A chunk whose text is damaged has none that could be asked for, and is left out.
    """
    wrong: list[int] = []
    for start in range(0, len(chunk_ids), _AT_ONCE):
        if cancelled():
            raise Cancelled("nothing was changed")
        with store.read() as handle, checks.stoppable(handle, cancelled):
            wrong += [
                chunk_id
                for chunk_id, words in words_of(handle, chunk_ids[start : start + _AT_ONCE])
                if not checks.has_words(handle, chunk_id, words)
            ]
    return wrong


def words_of(
    handle: Handle, chunk_ids: Sequence[int]
) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Give the words of chunks as they should be stored; chunks that are gone are left out."""
    pieces = read_pieces(handle, chunk_ids)
    for piece in pieces:
        try:
            [passage] = passages_of(handle, [piece])
        except (IndexCorruptError, UnicodeDecodeError):
            continue
        yield piece.chunk_id, passage[1:]


def _places(handle: Handle, chunk_ids: Sequence[int]) -> tuple[str, ...]:
    found = checks.read_paths_of_chunks(handle, chunk_ids[:MOST_PLACES], MOST_PLACES)
    return tuple(map(display_path, found))
