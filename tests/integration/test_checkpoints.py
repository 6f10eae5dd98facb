"""Checkpoints: memories and indexed files, saved, found, listed, changed and deleted."""

import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import CheckpointNotFoundError, InvalidInputError
from engine.index_records import IndexOptions
from engine.memory_records import Checkpoint, NewMemory
from engine.project import Project
from engine.records import tokens_of
from engine.roots import project_id_of
from tests.support.git_trees import run_git
from tests.support.oracle import check_sound
from tests.support.trees import SAMPLE, write_tree

NOTE = NewMemory(
    summary="Tokens expire after an hour",
    description="We decided so because refreshing is cheap; see the meeting of March.",
    context={"ticket": 42, "people": ["a", "b"], "nothing": None},
    tags=("decision", "auth"),
)


def database(config: Config, tree: Path) -> Path:
    return config.data_dir / f"{project_id_of(str(tree))}.db"


def pages(index: Project, limit: int, *tags: str) -> Iterator[tuple[Checkpoint, ...]]:
    cursor = None
    while True:
        page = index.checkpoints.list(tags=tags, limit=limit, cursor=cursor)
        yield page.checkpoints
        cursor = page.next_cursor
        if cursor is None:
            return


def test_what_is_saved_is_given_back(index: Project, tree: Path) -> None:
    saved = index.checkpoints.save(NOTE)
    assert index.checkpoints.get(saved.id) == saved
    assert index.checkpoints.get(saved.id.upper()) == saved
    assert uuid.UUID(saved.id).version == 4
    assert (saved.summary, saved.description) == (NOTE.summary, NOTE.description)
    assert (saved.context, saved.tags) == (NOTE.context, NOTE.tags)
    assert saved.project_path == str(tree)
    assert saved.token_count == tokens_of(len(NOTE.description))
    assert saved.created_at == saved.updated_at
    assert datetime.fromisoformat(saved.created_at).utcoffset() is not None
    assert saved.score is None


def test_a_file_is_a_checkpoint(index: Project, tree: Path) -> None:
    [found] = [each for each in index.checkpoints.list().checkpoints if "router" in each.summary]
    path = "app/http/router.py"
    assert found.summary == f"Indexed file: {path}"
    assert found.description == SAMPLE[path]
    assert found.project_path == str(tree)
    assert found.context == {"indexed_file": path}
    assert found.tags == ("indexed", "repository", ".py", "python")
    assert found.token_count == tokens_of(len(SAMPLE[path]))
    assert uuid.UUID(found.id).version == 5
    assert index.checkpoints.get(found.id) == found
    assert index.why(path).facts["id"] == found.id


def test_the_id_of_a_file_stays(index: Project, tree: Path, catalog: Catalog) -> None:
    ids = {each.summary: each.id for each in index.checkpoints.list().checkpoints}
    (tree / "app/session.py").write_text("def changed():\n    return 1\n")
    index.index(IndexOptions(force=True))
    assert {each.summary: each.id for each in index.checkpoints.list().checkpoints} == ids
    index.clear()
    assert index.checkpoints.list().total == 0
    index.index()
    assert {each.summary: each.id for each in index.checkpoints.list().checkpoints} == ids
    catalog.forget(str(tree))
    again = catalog.create(str(tree))
    again.index()
    assert {each.summary: each.id for each in again.checkpoints.list().checkpoints} == ids


def test_the_same_path_of_another_project_is_another_checkpoint(
    index: Project, catalog: Catalog, tmp_path: Path
) -> None:
    write_tree(tmp_path / "other", SAMPLE)
    other = catalog.create(str(tmp_path / "other"))
    other.index()
    ids = [{each.id for each in one.checkpoints.list().checkpoints} for one in (index, other)]
    assert len(ids[0]) == len(ids[1]) == len(SAMPLE)
    assert ids[0].isdisjoint(ids[1])


def test_what_was_indexed_again_says_when(index: Project, tree: Path) -> None:
    before = {each.summary: each for each in index.checkpoints.list().checkpoints}
    (tree / "app/session.py").write_text("def changed():\n    return 1\n")
    index.index()
    after = {each.summary: each for each in index.checkpoints.list().checkpoints}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"Indexed file: app/session.py"}
    [name] = changed
    assert after[name].created_at == before[name].created_at
    assert after[name].updated_at > before[name].updated_at


def test_files_and_memories_are_found_together(index: Project) -> None:
    index.checkpoints.save(NOTE)
    index.checkpoints.save(NewMemory(summary="The kitchen is closed on Monday"))
    found = index.checkpoints.search("how are sessions opened and when do tokens expire")
    summaries = [each.summary for each in found]
    assert NOTE.summary in summaries
    assert "Indexed file: app/session.py" in summaries
    assert "The kitchen is closed on Monday" not in summaries[:2]
    scores = [each.score or 0 for each in found]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert len({each.id for each in found}) == len(found)


def test_a_file_is_found_as_a_search_finds_it(index: Project) -> None:
    [best, *_] = index.checkpoints.search("finds the handler of a request")
    assert best.summary == "Indexed file: app/http/router.py"
    assert best.description == SAMPLE["app/http/router.py"]


def test_a_memory_is_found_by_each_of_its_parts(index: Project) -> None:
    saved = index.checkpoints.save(
        NewMemory(
            summary="About getUserById",
            description="Owls nest in the belfry.",
            context={"where": "lighthouse"},
            tags=("quarantine-plan",),
        )
    )
    for query in ("get user by id", "owl", "belfry nests", "lighthouse", "quarantine"):
        assert index.checkpoints.search(query, tags=("!indexed",))[0].id == saved.id


def test_a_memory_is_found_by_what_it_means(index: Project) -> None:
    meant = index.checkpoints.save(NewMemory(summary="remove a file", description="delete it"))
    for number in range(20):
        index.checkpoints.save(NewMemory(summary=f"colour of the wall {number}"))
    found = index.checkpoints.search("unlink directory entries", tags=("!indexed",), limit=1)
    assert [each.id for each in found] == [meant.id]


def test_a_memory_among_memories_need_not_be_as_near_as_a_file(index: Project) -> None:
    text = "Deploys happen on Tuesdays after the smoke tests"
    memory = index.checkpoints.save(NewMemory(summary=text, description=text))
    asked = "when do we release"
    found = index.checkpoints.search(asked, only_memories=True)
    assert [each.id for each in found] == [memory.id]
    assert memory.id not in {each.id for each in index.checkpoints.search(asked)}
    assert not index.checkpoints.search("favourite pizza toppings", only_memories=True)


def test_a_memory_is_found_before_anything_is_indexed(catalog: Catalog, tree: Path) -> None:
    empty = catalog.create(str(tree))
    saved = empty.checkpoints.save(NOTE)
    assert [each.id for each in empty.checkpoints.search("when does a token expire")] == [saved.id]
    assert empty.checkpoints.list().checkpoints == (saved,)
    assert empty.checkpoints.search("owls in the belfry") == ()


def test_tags_choose_before_the_best_are_taken(index: Project, tree: Path) -> None:
    write_tree(tree, {f"many/session{n}.py": f"def open_session{n}(): pass\n" for n in range(60)})
    write_tree(tree, {"notes.md": "# Notes\n\nA session is opened by the store.\n"})
    index.index()
    for number in range(60):
        index.checkpoints.save(NewMemory(summary=f"open session {number}", tags=("bulk",)))
    rare = index.checkpoints.save(NewMemory(summary="session of the parliament", tags=("rare",)))
    search = index.checkpoints.search
    assert [each.id for each in search("open session", tags=("rare",), limit=3)] == [rare.id]
    assert [each.tags[2] for each in search("open session", tags=(".md",), limit=1)] == [".md"]
    assert {".py"} == {each.tags[2] for each in search("open session", tags=("indexed", "!.md"))}
    assert all("bulk" in each.tags for each in search("open session", tags=("!indexed", "!rare")))
    assert search("open session", tags=("bulk", "indexed")) == ()
    assert search("open session", tags=("python", "!repository")) == ()


def test_a_memory_may_be_tagged_as_a_language(index: Project) -> None:
    saved = index.checkpoints.save(NewMemory(summary="open session", tags=("python", ".py")))
    found = {each.id for each in index.checkpoints.search("open session", tags=("python",))}
    assert saved.id in found
    assert len(found) > 1
    listed = index.checkpoints.list(tags=("python", ".py", "!indexed"))
    assert [each.id for each in listed.checkpoints] == [saved.id]


def test_the_newest_is_listed_first(index: Project) -> None:
    saved = [index.checkpoints.save(NewMemory(summary=f"note {n}")).id for n in range(7)]
    for limit in (1, 3, 5, 50):
        listed = [each.id for page in pages(index, limit) for each in page]
        assert len(listed) == len(set(listed)) == len(SAMPLE) + 7
        assert set(listed[:7]) == set(saved)
    page = index.checkpoints.list(limit=3)
    assert (len(page.checkpoints), page.total) == (3, len(SAMPLE) + 7)
    assert index.checkpoints.list(limit=50).next_cursor is None


def test_a_page_ends_when_its_texts_are_too_much(
    index: Project, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        index.checkpoints.save(NewMemory(summary=f"note {number}", description="x" * 1000))
    monkeypatch.setattr("engine.memories.cards.MAX_ANSWER_BYTES", 1500)
    sizes = [len(page) for page in pages(index, 50, "!indexed")]
    assert sizes == [2, 2, 1]
    assert len(index.checkpoints.search("note", tags=("!indexed",))) == 2


def test_a_memory_can_be_changed(index: Project, config: Config, tree: Path) -> None:
    saved = index.checkpoints.save(NOTE)
    changed = index.checkpoints.update(saved.id, NewMemory(summary="Owls nest", tags=("owl",)))
    assert (changed.id, changed.created_at) == (saved.id, saved.created_at)
    assert changed.updated_at > saved.updated_at
    assert (changed.summary, changed.description, changed.context) == ("Owls nest", "", {})
    assert index.checkpoints.get(saved.id) == changed
    assert [each.id for each in index.checkpoints.search("owl", tags=("owl",))] == [saved.id]
    assert index.checkpoints.search("owl", tags=("decision",)) == ()
    assert saved.id not in {each.id for each in index.checkpoints.search("tokens expire hour")}
    check_sound(database(config, tree))


def test_a_deleted_memory_is_gone(index: Project, config: Config, tree: Path) -> None:
    saved = index.checkpoints.save(NOTE)
    kept = index.checkpoints.save(NewMemory(summary="tokens are kept"))
    index.checkpoints.delete(saved.id)
    with pytest.raises(CheckpointNotFoundError):
        index.checkpoints.get(saved.id)
    with pytest.raises(CheckpointNotFoundError):
        index.checkpoints.delete(saved.id)
    with pytest.raises(CheckpointNotFoundError):
        index.checkpoints.update(saved.id, NOTE)
    assert [each.id for each in index.checkpoints.search("tokens", tags=("!indexed",))] == [kept.id]
    check_sound(database(config, tree))


def test_a_file_cannot_be_changed_or_deleted(index: Project) -> None:
    [file, *_] = index.checkpoints.list(tags=("indexed",)).checkpoints
    for change in (
        lambda: index.checkpoints.delete(file.id),
        lambda: index.checkpoints.update(file.id, NOTE),
    ):
        with pytest.raises(InvalidInputError) as refusal:
            change()
        assert refusal.value.details["field"] == "id"
    assert index.checkpoints.get(file.id) == file


@pytest.mark.parametrize("id_", ["", "x", "\0", "\ud800", str(uuid.UUID(int=7)), "7" * 10_000])
def test_nothing_has_an_unknown_id(index: Project, id_: str) -> None:
    for ask in (index.checkpoints.get, index.checkpoints.delete):
        with pytest.raises(CheckpointNotFoundError) as refusal:
            ask(id_)
        assert refusal.value.as_json()["error"] == "not_found"


def test_a_list_goes_on_after_any_checkpoint_of_a_page(index: Project) -> None:
    """Whoever shows a part of a page goes on from there, also if some of it was deleted since."""
    for number in range(5):
        index.checkpoints.save(NewMemory(summary=f"note {number}"))
    page = index.checkpoints.list(limit=5)
    assert page.cursors[-1] == page.next_cursor
    first, second, *rest = page.checkpoints
    index.checkpoints.delete(first.id)
    index.checkpoints.delete(second.id)
    assert index.checkpoints.list(limit=3, cursor=page.cursors[1]).checkpoints == tuple(rest)
    whole = index.checkpoints.list(limit=50)
    assert whole.cursors[-1] is None
    assert None not in whole.cursors[:-1]


@pytest.mark.parametrize("cursor", ["", "x", "é", "AAAA", "MS9h", "LzE=", "\0", "MTA" * 999])
def test_a_cursor_of_nobody_is_refused(index: Project, cursor: str) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        index.checkpoints.list(cursor=cursor)
    assert refusal.value.details["field"] == "cursor"


def test_an_index_that_gave_other_ids_keeps_them(index: Project) -> None:
    given = uuid.uuid4()
    with index._store.write() as handle:
        handle.execute("UPDATE files SET uuid = ? WHERE path = ?", (given.bytes, b"app/session.py"))
    index.index(IndexOptions(force=True))
    assert index.checkpoints.get(str(given)).summary == "Indexed file: app/session.py"


def test_files_are_those_of_the_branch_and_memories_of_all(
    catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    write_tree(tree, SAMPLE)
    run_git(tree, tmp_path, "init", "-q", "-b", "main")
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "first")
    index = catalog.create(str(tree))
    index.index()
    saved = index.checkpoints.save(NOTE)
    ids = {each.summary: each.id for each in index.checkpoints.list().checkpoints}
    run_git(tree, tmp_path, "checkout", "-q", "-b", "other")
    (tree / "app/session.py").unlink()
    index.index()
    gone = "Indexed file: app/session.py"
    listed = {each.summary: each.id for each in index.checkpoints.list().checkpoints}
    assert listed == {summary: id_ for summary, id_ in ids.items() if summary != gone}
    assert listed[NOTE.summary] == saved.id
    with pytest.raises(CheckpointNotFoundError):
        index.checkpoints.get(ids[gone])
    assert gone not in {each.summary for each in index.checkpoints.search("open session")}
