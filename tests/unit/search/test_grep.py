"""Which texts match, where in them, and when to stop."""

from collections.abc import Iterator

import pytest

from engine.search.grep import (
    MAX_MATCHES,
    Deadline,
    DeadlineExceeded,
    Span,
    matching_texts,
    places_in,
)
from engine.search.patterns import Pattern, patterns_of
from engine.search.query import parse_query
from engine.store.compression import pack_text

LONG = 1000.0


class Clock:
    """A clock that advances by a second at each call."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def patterns(query: str) -> tuple[Pattern, ...]:
    return patterns_of(parse_query(query))


def inside(
    text: str, pieces: list[Span], query: str, most: int | None = None
) -> dict[int, list[Span]]:
    found = places_in(text.encode(), pieces, patterns(query), Deadline(LONG), most=most)
    assert found.is_whole == (most is None)
    return found.spans


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_finds_the_texts_in_which_each_pattern_matches(threads: int) -> None:
    texts = {number: f"a{number}b" * (number % 7) for number in range(1000)}
    rows = ((number, pack_text(text.encode())) for number, text in texts.items())
    scan = matching_texts(rows, patterns(r"/a1\d*b/ /\d7/"), Deadline(LONG), threads)
    expected = [n for n, text in texts.items() if text and str(n)[0] == "1" and "7" in str(n)[1:]]
    assert scan.blob_ids == expected
    assert scan.bytes_searched == sum(map(len, texts.values()))
    assert scan.is_complete


@pytest.mark.parametrize("threads", [1, 2])
def test_stops_when_the_time_is_up_and_gives_what_it_found(threads: int) -> None:
    text = b"needle" + b" " * 10_000 + b"\n"
    read: list[int] = []

    def rows() -> Iterator[tuple[int, bytes]]:
        packed = pack_text(text)
        for number in range(100_000):
            read.append(number)
            yield number, packed

    scan = matching_texts(rows(), patterns("/needle/"), Deadline(5000, Clock()), threads)
    assert not scan.is_complete
    assert 0 < len(scan.blob_ids) <= len(read) <= 5000
    assert scan.blob_ids == read[: len(scan.blob_ids)] or threads > 1
    assert scan.bytes_searched == len(text) * len(scan.blob_ids)


def test_what_many_texts_hold_is_found_by_several_threads() -> None:
    texts = {number: f"x{number}\n" + "é" * 3000 for number in range(2000)}
    packed = {number: pack_text(text.encode()) for number, text in texts.items()}
    for query, wanted in (("/x/", "x"), ("/x1/", "x1"), ("/^x77$/", "x77\n"), ("/x0{3}/", "x000")):
        scan = matching_texts(packed.items(), patterns(query), Deadline(LONG), 3)
        assert scan.blob_ids == [number for number, text in texts.items() if wanted in text]


def test_what_goes_wrong_while_reading_ends_the_search() -> None:
    def rows() -> Iterator[tuple[int, bytes]]:
        for number in range(1000):
            yield number, pack_text(b"x" * 1000)
        raise KeyboardInterrupt

    deadline = Deadline(LONG)
    with pytest.raises(KeyboardInterrupt):
        matching_texts(rows(), patterns("/y/"), deadline, 2)
    assert deadline.is_over()


def test_a_deadline_ends_a_search_inside_a_long_text() -> None:
    text = b"word and word\n" * 500_000
    deadline = Deadline(3, Clock())
    with pytest.raises(DeadlineExceeded):
        places_in(text, [(0, len(text))], patterns("/needle|[a-c]{900}/"), deadline)


def test_a_match_belongs_to_the_piece_in_which_it_starts() -> None:
    text = "ab\nab\nxx\nab\n"
    pieces = [(0, 5), (5, 9), (9, 12)]
    assert inside(text, pieces, "/ab/") == {0: [(0, 2), (3, 5)], 2: [(9, 11)]}
    assert inside(text, pieces, r"/b\nx/") == {0: [(4, 7)]}
    assert inside(text, [(3, 6)], "/ab/") == {0: [(3, 5)]}
    assert inside(text, [(2, 3), (6, 9)], "/ab/") == {}


def test_several_patterns_must_match_in_one_piece() -> None:
    text = "ab\ncd\nab cd\n"
    pieces = [(0, 3), (3, 6), (6, 12)]
    assert inside(text, pieces, "/a./ /c./") == {2: [(6, 8), (9, 11)]}
    assert inside(text, pieces, "/a./ -/c/") == {0: [(0, 2)]}
    assert inside(text, pieces, "-/c/ -/x/") == {0: []}
    assert inside(text, pieces, "/ab/ /a/") == {0: [(0, 1), (0, 2)], 2: [(6, 7), (6, 8)]}


def test_an_empty_match_counts_once_a_line() -> None:
    assert inside("aab\nb\n", [(0, 6)], "/a*/") == {0: [(0, 2), (4, 4)]}
    assert inside("x\n\n", [(0, 3)], "/^$/") == {0: [(2, 2)]}
    assert inside("xy", [(0, 2)], "/y|$/") == {0: [(1, 2)]}
    assert inside("xz", [(0, 2)], "/$/") == {0: [(2, 2)]}


def test_matches_of_a_piece_are_bounded() -> None:
    text = "a" * 500 + "\n" + "a"
    found = inside(text, [(0, 501), (501, 502)], "/a/")
    assert [len(spans) for spans in found.values()] == [MAX_MATCHES, 1]
    assert list(inside(text, [(0, 250), (250, 501)], "/a/", most=50)) == [0]


def test_what_stands_before_the_end_of_a_line_is_no_part_of_its_line_break() -> None:
    text, whole = "a;\r\nb \r\n", [(0, 8)]
    assert inside(text, whole, "/[^;]$/") == inside(text, whole, r"/\s$/") == {0: [(5, 6)]}
    assert inside(text, whole, r"/;$\nb/") == inside(text, whole, r"/;\n.(?:$|)/") == {0: [(1, 5)]}
    assert inside(text, whole, "/$/") == {0: [(2, 2), (6, 6)]}
    assert inside(text, [(0, 4), (4, 8)], "/.$/") == {0: [(1, 2)], 1: [(5, 6)]}
    assert inside(text, [(0, 4), (4, 8)], r"/;/ -/\s$/") == {0: [(1, 2)]}
    assert inside(text, whole, r"/\r$/") == {0: [(2, 3), (6, 7)]}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/[^;]$/", [2, 4]),
        (r"/\{$\n\s+return/", [4]),
        (r"/\s$/", []),
        (r"/\r$/", [1, 2, 4]),
        (r"/\w;?$/ /^b/", [1, 2, 3]),
        (r"/\Aa;$/", [1, 2, 3]),
        (r"/b;$\n\z/", [1, 3]),
    ],
)
def test_texts_with_windows_line_breaks_are_found_as_others_are(
    query: str, expected: list[int]
) -> None:
    texts = {1: "a;\r\nb;\r\n", 2: "a;\r\nb\r\n", 3: "a;\nb;\n", 4: "f() {\r\n  return\r\n"}
    rows = [(number, pack_text(text.encode())) for number, text in texts.items()]
    assert matching_texts(rows, patterns(query), Deadline(LONG), 1).blob_ids == expected
