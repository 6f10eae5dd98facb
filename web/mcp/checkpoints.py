"""The checkpoint tools: notes that agents keep about a project, searchable with its files."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import Meta

from engine.budget import best_passage
from engine.memory_records import (
    MAX_FOUND,
    MAX_LISTED,
    MAX_SUMMARY_CHARS,
    RESERVED_TAGS,
    Checkpoint,
    CheckpointPage,
    FoundMemories,
    NewMemory,
)
from engine.records import bytes_within
from engine.search_records import MAX_QUERY_CHARS
from web.mcp.bounds import DEFAULT_TOKENS, MaxTokens, most_that_fit, size_of_answer
from web.mcp.tool import (
    Answer,
    Caller,
    Parameters,
    ProjectPath,
    Tool,
    ToolContext,
    fields_in,
    record,
)
from web.schemas import as_json
from web.terminal import printable, printable_block
from web.text import compact_text, size_of
from web.wording import count

Tags = list[str]
Shape = dict[str, Any]  # a checkpoint as JSON

_MORE = "texts are cut; raise max_tokens for more, with limit 1 for one whole text"
_LIMITED = "more may match: raise limit, or set tags"
_NOTHING = "nothing found; search_code finds code"
_ONE_PROJECT = "set project_path to search the notes and files of one"
_SMALL_BYTES = 200  # of a context that is always told
_SHARE = 0.45  # of the room that is left goes to the text of the next checkpoint
_MIN_PASSAGE_BYTES = 60
_MAX_TRIES = 8  # to make a passage as long as its share


class SaveCheckpoint(Parameters, kw_only=True, frozen=True):
    """Parameters of ``checkpoint_save``."""

    summary: Annotated[str, Meta(min_length=1, max_length=MAX_SUMMARY_CHARS)]
    description: str
    project_path: ProjectPath | None = None
    context: dict[str, Any] | None = None
    tags: Tags | None = None


class SearchCheckpoints(Parameters, kw_only=True, frozen=True):
    """Parameters of ``checkpoint_search``."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    project_path: ProjectPath | None = None
    tags: Annotated[Tags, Meta(description="all of them; !tag: without it")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_FOUND)] = 10
    max_tokens: MaxTokens = DEFAULT_TOKENS


class ListCheckpoints(Parameters, kw_only=True, frozen=True):
    """Parameters of ``checkpoint_list``."""

    project_path: ProjectPath | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED)] = 50
    max_tokens: MaxTokens = DEFAULT_TOKENS
    cursor: str | None = None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools for checkpoints."""
    checkpoints = _Checkpoints(context)
    return (
        Tool(
            name="checkpoint_save",
            title="Save a note",
            description=(
                "Save a note for later sessions: a decision, a finding, or where something is. "
                "Secrets are redacted."
            ),
            parameters=SaveCheckpoint,
            output_schema=record(**fields_in(Checkpoint, "id", "summary", "tags", "created_at")),
            run=checkpoints.save,
        ),
        Tool(
            name="checkpoint_search",
            title="Search notes and files",
            description=(
                "Search notes and indexed files by meaning and words, and read passages. "
                "Files have the tags indexed, repository, their extension and language; "
                "!indexed: notes only. To locate code use search_code."
            ),
            parameters=SearchCheckpoints,
            output_schema=record(checkpoints="list", truncated="boolean"),
            run=checkpoints.search,
            read_only=True,
        ),
        Tool(
            name="checkpoint_list",
            title="List notes and files",
            description="List notes and indexed files, with passages, newest first.",
            parameters=ListCheckpoints,
            output_schema=record(**fields_in(CheckpointPage)),
            run=checkpoints.list,
            read_only=True,
        ),
    )


class _Checkpoints:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def save(self, params: SaveCheckpoint, caller: Caller) -> Answer:
        new = NewMemory(
            summary=params.summary,
            description=params.description,
            context=params.context or {},
            tags=tuple(params.tags or ()),
        )
        index = self._context.projects.index(params.project_path, caller, by_part=False)
        saved = index.checkpoints.save(new)
        return Answer(content=as_json(saved), text=f"saved as {saved.id}")

    def search(self, params: SearchCheckpoints, caller: Caller) -> Answer:
        projects, tags = self._context.projects, params.tags or ()
        asks_for_files = not RESERVED_TAGS.isdisjoint(tags)
        if params.project_path is None and not asks_for_files and projects.is_ambiguous(caller):
            return self._search_all(params)
        index = projects.index(params.project_path, caller)
        found = index.checkpoints.search(params.query, tags=tags, limit=_most_found(params))
        return _found_answer(FoundMemories(memories=found), params)

    def _search_all(self, params: SearchCheckpoints) -> Answer:
        """Search the notes of all projects, as it is not known which one is meant."""
        catalog = self._context.catalog
        roots = catalog.roots_or_ids()
        found = catalog.search_memories(
            roots, params.query, tags=params.tags or (), limit=_most_found(params)
        )
        note = f"these are notes of all {len(roots)} projects; {_ONE_PROJECT}"
        return _found_answer(found, params, note)

    def list(self, params: ListCheckpoints, caller: Caller) -> Answer:
        index = self._context.projects.index(params.project_path, caller)
        page = index.checkpoints.list(limit=params.limit, cursor=params.cursor)

        def write(shown: Sequence[Shape]) -> Answer:
            cursor = page.cursors[len(shown) - 1] if shown else None
            is_cut = any("truncated" in each for each in shown)
            return _page_answer(page, shown, cursor, is_cut=is_cut)

        return _composed(page.checkpoints, (), write, params.max_tokens)


def _page_answer(
    page: CheckpointPage, shown: Sequence[Shape], cursor: str | None, *, is_cut: bool
) -> Answer:
    content = {
        "checkpoints": shown,
        "total": page.total,
        "truncated": cursor is not None,
        "next_cursor": cursor,
        **_noted(_advice(is_cut)),
    }
    text = _text(shown, count(page.total, "checkpoint"), _advice(is_cut))
    return Answer(content=content, text=f"{text}, more with cursor {cursor}" if cursor else text)


def _most_found(params: SearchCheckpoints) -> int:
    """Return the limit of the search: one more than is shown tells whether there are more."""
    return min(params.limit + 1, MAX_FOUND)


def _found_answer(found: FoundMemories, params: SearchCheckpoints, *notes: str) -> Answer:
    """Return the answer of a search.

    Args:
        found: The checkpoints, best first, up to ``_most_found``.
        params: The call.
        notes: On a search of all projects; then the text, too, says the project of each.
    """
    errors = {"errors": found.errors} if found.errors else {}
    failures = [f"failed: {printable(e.project)}: {printable(e.message)}" for e in found.errors]

    best, total = found.memories[: params.limit], len(found.memories)
    is_limited = total > len(best) or total == MAX_FOUND
    about_number = [_LIMITED] if is_limited else [] if total else [_NOTHING]

    def write(shown: Sequence[Shape]) -> Answer:
        is_cut = len(shown) < len(best) or any("truncated" in each for each in shown)
        told = [*notes, *about_number, *_advice(is_cut)]
        content = {
            "checkpoints": shown,
            "truncated": is_cut or is_limited,
            **errors,
            **_noted(told),
        }
        of = f"{total:,} or more checkpoints" if is_limited else count(total, "checkpoint")
        text = _text(shown, of, told, with_projects=bool(notes))
        return Answer(content=content, text="\n".join([*failures, text]))

    words = params.query.lower().split()
    return _composed(best, words, write, params.max_tokens)


def _advice(is_cut: bool) -> list[str]:
    return [_MORE] if is_cut else []


def _noted(notes: Sequence[str]) -> dict[str, object]:
    return {"notes": notes} if notes else {}


def _text(
    shown: Sequence[Shape], of: str, notes: Sequence[str], *, with_projects: bool = False
) -> str:
    """Return checkpoints as text, with a line at the end that says of how many they are."""
    lines = [
        f"{printable(each['summary'])}  ({each['id']}"
        + (f", {printable(each['project_path'])})" if with_projects else ")")
        + (f"\n{printable_block(each['description'])}" if each["description"] else "")
        for each in shown
    ]
    told = [f"note: {note}" for note in notes]
    return "\n".join([*lines, *told, f"{len(shown):,} of {of}"])


def _composed(
    found: Sequence[Checkpoint],
    words: Sequence[str],
    write: Callable[[Sequence[Shape]], Answer],
    max_tokens: int,
) -> Answer:
    """Return the answer with as many checkpoints as fit, then as much of their texts.

    Args:
        found: The checkpoints, best first.
        words: The words of the query, by which the passages of long texts are chosen.
        write: Writes the answer with some of them.
        max_tokens: The budget.
    """
    whole = [as_json(each) for each in found]
    shapes = [_without_text(each) for each in whole]
    number = most_that_fit(len(shapes), lambda number: write(shapes[:number]), max_tokens)
    shapes = shapes[:number]
    answer = write(shapes)
    used = size_of_answer(answer)
    room = bytes_within(max_tokens) - used
    for place, shape in enumerate(shapes):
        share = round(room * max(_SHARE, 1 / (number - place)))
        shapes[place] = _with_text(shape, whole[place], words, share)
        room -= _size(shapes[place]) - _size(shape)
    return write(shapes)


def _size(shape: Shape) -> int:
    return size_of(compact_text(shape))


def _without_text(whole: Shape) -> Shape:
    context = whole["context"] if _size(whole["context"]) <= _SMALL_BYTES else {}
    is_cut = bool(whole["description"]) or context != whole["context"]
    bare = {**whole, "description": "", "context": context}
    return {**bare, "truncated": True} if is_cut else bare


def _with_text(bare: Shape, whole: Shape, words: Sequence[str], room: int) -> Shape:
    """Return a checkpoint with its whole text if there is room, or a passage of it."""
    before = _size(bare)
    if _size(whole) - before <= room:
        return whole
    description, most = whole["description"], room
    for _ in range(_MAX_TRIES):
        if most < _MIN_PASSAGE_BYTES:
            break
        shape = {**bare, "description": _passage(description, words, most)}
        cost = _size(shape) - before
        if cost <= room:
            return shape
        most = round(most * min(0.9, room / cost))
    return bare


def _passage(text: str, words: Sequence[str], max_bytes: int) -> str:
    found = best_passage(text, max_bytes, words=words)
    if found:
        return found[1]
    return text.encode()[:max_bytes].decode("utf-8", "ignore")
