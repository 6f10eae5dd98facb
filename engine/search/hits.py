"""From candidates to hits: the symbol and snippet of each, and whether its file is fresh."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import IndexCorruptError, InvalidPathError
from engine.records import FileStat, Hit, SearchRequest, display_path
from engine.search.rank import Candidate
from engine.search.snippet import Excerpt, cut_to_tokens, excerpt_of
from engine.settings import LARGEST_FILE_BYTES
from engine.source.file_stat import stat_beneath
from engine.source.reader import TreeReader
from engine.store import blobs, chunks, files
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.syntax.packing import unpack_text

if TYPE_CHECKING:
    from engine.search.tree import Tree


class Place(NamedTuple):
    """Where an answer comes from."""

    project: str  # what hits say
    root: str
    is_checked_out: bool  # the branch that is searched is the one on disk
    tree: "Tree | None"  # what is kept of that branch


def hits_of(
    handle: Handle,
    candidates: Sequence[Candidate],
    request: SearchRequest,
    filters: Filters,
    place: Place,
) -> tuple[list[Hit], bool]:
    """Make hits, with snippets inside the token budget; True when something was cut."""
    detailed = candidates[: request.detailed]
    owners = _owners(handle, candidates, filters)
    excerpts = _excerpts(handle, detailed, place, with_snippet=request.context)
    excerpts += [_bare(candidate.chunk) for candidate in candidates[len(detailed) :]]
    fresh = _freshness(handle, detailed, place) if place.is_checked_out and detailed else {}
    budget = request.max_tokens
    is_cut = False
    hits = []
    for number, candidate in enumerate(candidates):
        chunk = candidate.chunk
        excerpt = excerpts[number]
        snippet = excerpt.snippet
        if budget is not None:
            whole = snippet
            snippet, cost = cut_to_tokens(snippet, budget)
            budget -= cost
            is_cut = is_cut or snippet != whole
        owner = candidate.symbol or owners.get(chunk.id)
        hits.append(
            Hit(
                project=place.project,
                path=chunk.path,
                line_start=excerpt.line_start,
                line_end=excerpt.line_end,
                language=chunk.language,
                symbol=owner.qualified_name if owner else None,
                kind=owner.kind if owner else None,
                signature=owner.signature if owner else None,
                score=round(candidate.score, 4),
                why=candidate.breakdown.why,
                fresh=fresh.get(chunk.file_id),
                snippet=snippet,
                matches=excerpt.matches,
                snippet_line=excerpt.snippet_line if snippet else None,
            )
        )
    return hits, is_cut


def _bare(chunk: ChunkFacts) -> Excerpt:
    """Give the lines of a place whose text nobody reads."""
    return Excerpt(chunk.line_start, chunk.line_end, "")


def _excerpts(
    handle: Handle, candidates: Sequence[Candidate], place: Place, *, with_snippet: bool
) -> list[Excerpt]:
    """Give the lines and the code of each candidate."""
    tree = place.tree
    read = candidates if with_snippet else [each for each in candidates if each.spans]
    ends: dict[int, int] = {}  # how much of a text is needed; 0 is all
    for candidate in read:
        blob_id, end = candidate.chunk.blob_id, candidate.chunk.byte_end
        is_whole = bool(candidate.spans) or ends.get(blob_id) == 0
        ends[blob_id] = 0 if is_whole else max(end, ends.get(blob_id, 0))
    if tree:
        texts = {blob_id: tree.text(handle, blob_id) for blob_id in ends}
    else:
        packed = blobs.read_texts(handle, sorted(ends)) if ends else {}
        texts = {blob_id: unpack_text(packed[blob_id], end) for blob_id, end in ends.items()}
    _check_texts(handle, read, texts, place)
    return [
        excerpt_of(
            texts.get(candidate.chunk.blob_id, b""),
            candidate.chunk,
            candidate.spans,
            with_snippet=with_snippet,
        )
        for candidate in candidates
    ]


def _check_texts(
    handle: Handle, shown: Sequence[Candidate], texts: Mapping[int, bytes], place: Place
) -> None:
    """Make sure that what is shown is what was stored, by its hashes (2 µs a place).

    Lines around a match can be those of another chunk, so its whole text is compared.

    Raises:
        IndexCorruptError: It is not.
    """
    hashes = chunks.read_hashes(handle, [each.chunk.id for each in shown])
    whole = {each.chunk.blob_id for each in shown if each.spans}
    of_texts = blobs.read_text_hashes(handle, sorted(whole)) if whole else {}
    for each in shown:
        chunk, text = each.chunk, texts.get(each.chunk.blob_id, b"")
        piece = text[chunk.byte_start : chunk.byte_end]
        is_sound = blake2b(piece, digest_size=16).digest() == hashes.get(chunk.id)
        if is_sound and chunk.blob_id in whole:
            is_sound = sha256(text).digest() == of_texts.get(chunk.blob_id)
        if not is_sound:
            path = display_path(chunk.path)
            raise IndexCorruptError(
                f"the index of {place.project} is damaged: the text of {path} is not"
                " what was stored",
                hint=f"cairn doctor {place.project} --repair",
                path=path,
            )


def _freshness(handle: Handle, candidates: Sequence[Candidate], place: Place) -> dict[int, bool]:
    """Say, for each file of the candidates, whether it is what was indexed."""
    by_id = {candidate.chunk.file_id: candidate.chunk for candidate in candidates}
    if place.tree:
        identities = place.tree.identities(handle, by_id)
    else:
        identities = files.read_identities(handle, list(by_id))
    fresh = {
        file_id: stat_beneath(place.root, by_id[file_id].path) == stat
        for file_id, (stat, _) in identities.items()
    }
    doubtful = [file_id for file_id, is_same in fresh.items() if not is_same]
    if doubtful:
        with ExitStack() as stack:
            reader = _reader_of(place.root, stack)
            for file_id in doubtful:
                fresh[file_id] = _is_fresh(reader, by_id[file_id], identities[file_id])
    return fresh


def _reader_of(root: str, stack: ExitStack) -> TreeReader | None:
    """Open the root to compare with; None when it is gone or closed, and nothing is fresh then."""
    try:
        return stack.enter_context(TreeReader(root))
    except InvalidPathError:
        return None


def _is_fresh(
    reader: TreeReader | None, chunk: ChunkFacts, identity: tuple[FileStat, bytes]
) -> bool:
    """Compare a file with what was indexed: by its stat, and by its hash when that differs."""
    stat, content_hash = identity
    now = reader.stat_of(chunk.path) if reader else None
    if reader is None or now is None:
        return False
    return now == stat or reader.hash_of(chunk.path, LARGEST_FILE_BYTES) == content_hash


def _owners(
    handle: Handle, candidates: Sequence[Candidate], filters: Filters
) -> Mapping[int, SymbolFacts]:
    """Give the symbol that each chunk shows where the question names none in it.

    It is the first that passes the filters on symbols, else the one that the chunk is a part of.
    """
    open_ones = [candidate.chunk for candidate in candidates if candidate.symbol is None]
    passing: dict[int, SymbolFacts] = {}
    if filters.symbol_condition != "TRUE":
        passing = chunks.read_passing_symbols(handle, [c.id for c in open_ones], filters)
    wanted = {chunk.symbol_id for chunk in open_ones if chunk.symbol_id is not None}
    read = chunks.read_symbols(handle, wanted) if wanted else {}
    parts = {
        chunk.id: read[chunk.symbol_id]
        for chunk in open_ones
        if chunk.symbol_id is not None and chunk.symbol_id in read
    }
    return parts | passing
