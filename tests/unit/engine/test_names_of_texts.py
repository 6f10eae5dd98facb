"""Which texts refer to a name: a table of hashes, searched without reading a text."""

from engine.references.kept import NameTable
from engine.store.compression import pack_hashes
from engine.syntax.references import name_hash


def _table(*texts: set[str], unread: tuple[int, ...] = ()) -> NameTable:
    packed = [pack_hashes(sorted(map(name_hash, names))) for names in texts]
    return NameTable(list(enumerate(packed, 1)), unread, has_marked=True)


def test_the_texts_that_refer_to_a_name() -> None:
    table = _table({"take", "add"}, {"add"}, {"other"})
    assert table.texts_with("add") == {1, 2}
    assert table.texts_with("take") == {1}
    assert table.texts_with("nothing") == set()


def test_a_hash_across_two_others_is_none() -> None:
    first, second = sorted((name_hash("take"), name_hash("add")))
    flat = first.to_bytes(4, "little") + second.to_bytes(4, "little")
    table = NameTable([(1, pack_hashes([first, second]))], (), has_marked=False)
    across = int.from_bytes(flat[2:6], "little")
    assert table._with_hash(across.to_bytes(4, "little")) == []


def test_every_text_of_a_long_table_is_found() -> None:
    table = _table(*({f"name{number}", "common"} for number in range(500)))
    assert table.texts_with("common") == set(range(1, 501))
    assert table.texts_with("name499") == {500}


def test_a_name_with_a_mark_is_found_without_it() -> None:
    table = _table({"empty?"}, {"save!"}, {"empty"})
    assert table.texts_with("empty") == {1, 3}
    assert table.texts_with("empty?") == {1, 3}
    assert table.texts_with("save") == {2}


def test_only_the_first_identifier_counts() -> None:
    assert _table({"my"}).texts_with("my-function") == {1}


def test_texts_without_marks_may_refer_to_any_name() -> None:
    assert _table({"add"}, unread=(7,)).texts_with("nothing") == {7}


def test_what_is_not_known() -> None:
    assert _table().texts_with("add") is None  # of an index without names
    assert _table({"add"}).texts_with("==") is None
    assert _table({"add"}, unread=tuple(range(1000))).texts_with("add") is None
