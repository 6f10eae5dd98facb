"""Questions and answers in code."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.git_trees import run_git
from tests.support.training import CODE, mirror_of
from tools.training.corpora import Mirror, distinctive_lines, excluded_lines, is_copy
from tools.training.pairs import Kind, Pair, first_sentence, pairs_of, subject_of

NOTHING = np.zeros(0, np.int64)


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return mirror_of(tmp_path, "ann/shop", CODE)


def _of(pairs: list[Pair], kind: Kind) -> list[Pair]:
    return [pair for pair in pairs if pair.kind is kind]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("fix(cart): count items twice sold (#123)", "count items twice sold"),
        ("[core] Keep sessions GH-5", "Keep sessions GH-5"),
        ("Bump numpy from 1 to 2", ""),
        ("chore: release 2.0", ""),
        ("v1.2.3", ""),
        ("Retry when the connection drops", "Retry when the connection drops"),
    ],
)
def test_subjects_of_commits(written: str, said: str) -> None:
    assert subject_of(written) == said


def test_first_sentence() -> None:
    assert first_sentence(" Add a thing. Then more.") == "Add a thing."
    assert first_sentence("Add a thing\n\n:param x: y") == "Add a thing"


def test_a_comment_asks_for_what_it_describes(mirror: Mirror) -> None:
    pairs = _of(pairs_of(mirror, NOTHING), Kind.DOC)
    pair = next(pair for pair in pairs if "total price" in pair.query)
    assert pair.query == "give the total price of everything in the basket"
    assert "everything" not in f"{pair.answer.body_terms} {pair.answer.signature_terms}".split()
    assert "sum" in pair.answer.body_terms.split()
    assert pair.answer.name_terms.split()[0] == "basket"
    assert (pair.place.folders, pair.place.stem) == ("shop", "basket")


def test_a_name_asks_for_its_body_and_does_not_stand_in_it(mirror: Mirror) -> None:
    pairs = _of(pairs_of(mirror, NOTHING), Kind.NAME)
    pair = next(pair for pair in pairs if pair.query == "send order mail")
    words = " ".join(pair.answer).split()
    assert "sendordermail" not in words
    assert "template" in words


def test_a_path_asks_for_its_file_without_a_path(mirror: Mirror) -> None:
    pairs = _of(pairs_of(mirror, NOTHING), Kind.PATH)
    assert {pair.query for pair in pairs} <= {"basket", "mail", "shop basket", "shop mail"}
    assert {(pair.place.folders, pair.place.stem) for pair in pairs} == {("", "")}


def test_headings_commits_and_mentions(mirror: Mirror) -> None:
    pairs = pairs_of(mirror, NOTHING)
    assert "how to pay later in the shop" in {pair.query for pair in _of(pairs, Kind.HEADING)}
    assert "begin shop with baskets" in {pair.query for pair in _of(pairs, Kind.COMMIT)}
    mention = _of(pairs, Kind.MENTION)[0]
    assert "template" in mention.answer.body_terms.split()


def test_what_is_excluded_is_not_seen(mirror: Mirror, tmp_path: Path) -> None:
    lines = excluded_lines([mirror])
    assert len(lines) > 5
    assert (np.diff(lines) > 0).all()
    assert [pair for pair in pairs_of(mirror, lines) if "total price" in pair.query] == []
    text = CODE["shop/basket.py"].encode()
    assert is_copy(distinctive_lines(text), lines)
    assert not is_copy(
        distinctive_lines(b"a line of its own, nowhere else in the world\n" * 9), lines
    )
    assert not is_copy(distinctive_lines(text), NOTHING)


def test_a_mirror_tells_its_licence_and_commit(mirror: Mirror, tmp_path: Path) -> None:
    assert mirror.licence() == "MIT"
    assert len(mirror.head()) == 40
    assert not Mirror(tmp_path, "nobody/nothing").exists()
    run_git(tmp_path, tmp_path, "init", "-q", "--bare", "ann+empty/repo")
    assert not Mirror(tmp_path, "ann/empty").exists()
