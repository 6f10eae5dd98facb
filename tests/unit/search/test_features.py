"""Words of questions in paths."""

import pytest

from engine.search.features import RankedFile, count_path_words
from engine.search.weights import (
    ASKED_TEST_FACTOR,
    DOCUMENT_FACTOR,
    GENERATED_FACTOR,
    TEST_FACTOR,
)


def file_of(path: str, *, generated: bool = False, document: bool = False) -> RankedFile:
    return RankedFile(path, is_generated=generated, is_document=document, folders={})


@pytest.mark.parametrize(
    ("word", "part", "is_akin"),
    [
        ("route", "router", True),
        ("routes", "route", True),
        ("routing", "route", False),
        ("route", "route", True),
        ("io", "ion", False),
        ("ion", "io", False),
        ("abc", "abd", False),
    ],
)
def test_words_are_akin_when_one_begins_with_the_other(word: str, part: str, is_akin: bool) -> None:
    file, other = file_of(f"{part}.py"), file_of("zz/yy.py")
    assert count_path_words([file, other], [word]) == ({file: (1, 0)} if is_akin else {})


def test_a_word_counts_once_and_the_name_of_a_file_comes_first() -> None:
    files = [file_of("session/store/session_stores.py"), file_of("http/store.py"), file_of("x.py")]
    words = ["session", "store", "http"]
    assert count_path_words(files, words) == {files[0]: (2, 0), files[1]: (1, 1)}


def test_factors_multiply() -> None:
    file = file_of("tests/a.md", generated=True, document=True)
    names = [part.name for part in file.factors(False)]
    assert names == ["test", "generated", "document"]
    rest = GENERATED_FACTOR * DOCUMENT_FACTOR
    assert file.factor(False) == pytest.approx(TEST_FACTOR * rest)
    assert file.factor(True) == pytest.approx(ASKED_TEST_FACTOR * rest)
    assert TEST_FACTOR < ASKED_TEST_FACTOR < 1
