"""The disk against the index, without either."""

import pytest

from engine.indexing.scan import IndexedState, Scan, language_or_skip, scan
from engine.records import FileEntry, FileStat, Skip, SkipReason
from engine.store.files import KnownFile, KnownSkip

OLD, NEW = FileStat(1, 1, 1, 1), FileStat(2, 2, 2, 2)


def entry(path: str, stat: FileStat = OLD) -> FileEntry:
    return FileEntry(path, stat, path)


def known_file(number: int, fingerprint_id: int = 1) -> KnownFile:
    return KnownFile(number, number, OLD, fingerprint_id, b"u" * 16)


def run(
    items: list[FileEntry | Skip],
    files: dict[str, KnownFile] | None = None,
    skips: dict[str, KnownSkip] | None = None,
) -> Scan:
    known = IndexedState(files=files or {}, skips=skips or {}, fingerprint_id=1)
    return scan(items, known, on_progress=lambda _number, _path: None)


def test_new_changed_unchanged_and_gone_are_told_apart() -> None:
    found = run(
        [entry("new.py"), entry("same.py"), entry("changed.py", NEW)],
        {"same.py": known_file(1), "changed.py": known_file(2), "gone.py": known_file(3)},
    )
    assert [item.path for item in found.changed] == ["new.py", "changed.py"]
    assert (found.unchanged, found.gone) == (1, [3])


@pytest.mark.parametrize("field", FileStat._fields)
def test_whatever_differs_in_size_times_or_inode_is_read_again(field: str) -> None:
    found = run([entry("a.py", OLD._replace(**{field: 2}))], {"a.py": known_file(1)})
    assert ([item.path for item in found.changed], found.unchanged) == (["a.py"], 0)


def test_another_fingerprint_makes_a_file_stale() -> None:
    found = run([entry("a.py")], {"a.py": known_file(1, fingerprint_id=0)})
    assert [item.path for item in found.changed] == ["a.py"]


def test_names_refuse_binary_formats_and_lock_files() -> None:
    found = run([entry("a.PNG"), entry("Cargo.lock"), entry("a.xyz"), entry("noextension")])
    reasons = {skip.path: skip.reason for skip in found.new_skips}
    assert reasons == {"a.PNG": SkipReason.BINARY, "Cargo.lock": SkipReason.LOCK_FILE}
    assert [item.path for item in found.changed] == ["a.xyz", "noextension"]


def test_a_name_tells_what_is_minified() -> None:
    names = ["a.min.js", "lib/jquery-min.js", "A-min.CSS", "admin.js", "amin.js"]
    found = run([entry(name) for name in names])
    assert [(skip.path, skip.reason) for skip in found.new_skips] == [
        (name, SkipReason.MINIFIED) for name in names[:3]
    ]
    assert [item.path for item in found.changed] == names[3:]


def test_text_of_unknown_type_is_plain_text_unless_it_is_data() -> None:
    prose, data = b"some words\n" * 10_000, b"0.25 1e-3 ff:00\n" * 10_000
    assert language_or_skip("a.xyz", prose, OLD) == "text"
    assert language_or_skip("a.xyz", data[:1000], OLD) == "text"
    assert language_or_skip("a.csv", data, OLD) == "csv"
    skip = language_or_skip("a.xyz", data, OLD)
    assert isinstance(skip, Skip)
    assert skip.reason is SkipReason.UNKNOWN_TYPE
    stored = {"a.xyz": KnownSkip(skip, 1)}
    assert run([entry("a.xyz")], skips=stored).changed == []


def test_what_another_version_skipped_is_read_again() -> None:
    skip = KnownSkip(Skip("a.stub", SkipReason.UNKNOWN_TYPE, "", stat=OLD), 0)
    assert [item.path for item in run([entry("a.stub")], skips={"a.stub": skip}).changed] == [
        "a.stub"
    ]


def test_a_skip_by_content_holds_until_the_file_changes() -> None:
    binary = KnownSkip(Skip("a.py", SkipReason.BINARY, "", stat=OLD), 1)
    same = run([entry("a.py")], skips={"a.py": binary})
    assert (same.changed, same.new_skips, same.gone_skips, same.skipped) == ([], [], [], 1)
    assert [item.path for item in run([entry("a.py", NEW)], skips={"a.py": binary}).changed] == [
        "a.py"
    ]


def test_failures_are_tried_again() -> None:
    failed = KnownSkip(Skip("a.py", SkipReason.UNREADABLE, "", stat=OLD), 1)
    assert [item.path for item in run([entry("a.py")], skips={"a.py": failed}).changed] == ["a.py"]


@pytest.mark.parametrize("reason", [SkipReason.PARSER_FAILED, SkipReason.UNDECODABLE])
def test_what_failed_for_its_content_waits_for_a_change(reason: SkipReason) -> None:
    failed = KnownSkip(Skip("a.py", reason, "", stat=OLD), 1)
    same = run([entry("a.py")], skips={"a.py": failed})
    assert (same.changed, [skip.path for skip in same.failures]) == ([], ["a.py"])
    assert run([entry("a.py", NEW)], skips={"a.py": failed}).changed


@pytest.mark.parametrize("is_folder", [True, False], ids=["folder", "link to a folder"])
def test_files_in_an_unreadable_folder_are_kept(is_folder: bool) -> None:
    closed = Skip("closed", SkipReason.UNREADABLE, "permission denied", is_folder=is_folder)
    found = run([closed], {"closed/a.py": known_file(1), "open/b.py": known_file(2)})
    assert found.gone == [2]
    assert found.failures == [closed]


def test_a_skip_that_is_gone_or_became_a_file_is_removed() -> None:
    old = KnownSkip(Skip("gone.log", SkipReason.IGNORED, ""), 1)
    assert run([], skips={"gone.log": old}).gone_skips == ["gone.log"]
