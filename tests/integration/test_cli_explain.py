"""``cairn search --explain``: the numbers behind the order of an answer."""

import math

import pytest

from tests.support.command import Command
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    root = tmp_path_factory.mktemp("tree")
    write_tree(root, SAMPLE)
    command = Command(home=tmp_path_factory.mktemp("home"), folder=root, reads_here=True)
    assert command("index", "--quiet").code == 0
    return command


def test_the_numbers_of_a_hit_make_its_score(command: Command) -> None:
    ended = command("search", "open session for a user", "--explain", "--json")
    hits = ended.json()["hits"]
    assert ended.code == 0
    assert len(hits) > 2
    for hit in hits:
        explain = hit["explain"]
        made = sum(explain["shares"].values()) * math.prod(explain["factors"].values())
        assert made == pytest.approx(explain["score"], abs=1e-5)
        assert hit["score"] == pytest.approx(explain["score"], abs=1e-4)
    assert {hit["explain"]["keyword_rank"] for hit in hits} == set(range(1, len(hits) + 1))
    lowered = next(hit for hit in hits if hit["path"].startswith("tests/"))
    assert lowered["explain"]["factors"] == {"test": 0.3}


def test_each_word_says_where_it_is_and_how_rare(command: Command) -> None:
    ended = command("search", "open_session zebra", "--explain", "--json", "--limit", "1")
    words = {match["word"]: match for match in ended.json()["hits"][0]["explain"]["words"]}
    assert list(words) == ["open", "session", "zebra", "open session"]
    assert words["open session"]["columns"] == ["name", "signature", "body"]
    assert words["zebra"] == {"word": "zebra", "columns": [], "chunks": 0}
    assert words["session"]["chunks"] >= words["open session"]["chunks"] > 0


def test_without_it_nothing_changes(command: Command) -> None:
    plain = command("search", "open session", "--json").json()
    told = command("search", "open session", "--explain", "--json").json()
    assert all("explain" not in hit for hit in plain["hits"])
    for hit in told["hits"]:
        del hit["explain"]
    assert told["hits"] == plain["hits"]


def test_a_terminal_shows_the_sum_and_a_line_for_each_word(command: Command) -> None:
    shown = command("search", "open_session", "--explain", "--no-snippets", "--limit", "1").out
    lines = shown.splitlines()
    assert lines[0].startswith("app/session.py:")
    score = next(line for line in lines if line.startswith("  score "))
    assert " = words " in score
    assert " + definition 2.7900" in score
    words = [line for line in lines if line.startswith("    ")]
    assert [line.split("  ")[2].strip() for line in words] == ["open", "session", "open session"]
    assert len({line.index("  in ") for line in words}) == 1  # the columns are aligned
    assert "why:" not in shown


def test_markdown_stays_as_it_is(command: Command) -> None:
    arguments = ("search", "open session", "--format", "markdown")
    plain, told = command(*arguments).out, command(*arguments, "--explain").out
    assert plain.partition("\n_")[0] == told.partition("\n_")[0]


def test_a_batch_is_explained_too(command: Command) -> None:
    ended = command("search", "--batch", "-", "--explain", given=b"session\n")
    assert ended.json()["hits"][0]["explain"]["shares"]


def test_names_are_explained(command: Command) -> None:
    ended = command("search", "close_session", "--mode", "symbol", "--explain", "--json")
    explain = ended.json()["hits"][0]["explain"]
    assert explain["shares"] == {"name": 1.0}
    assert explain["factors"] == {"method": 0.93}
    assert explain["words"] == []
