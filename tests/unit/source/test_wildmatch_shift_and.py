"""Matching all patterns at once gives what each of them alone gives."""

import random

import pytest

from engine.source.wildmatch import NamePattern, ShiftAnd, components_of

PIECES = ["a", "B", "ab", ".", "-", "]", "\\*", "\\[", "\\\\", "é", "🐢", ")", "(", "|", "^", "$"]
WILD = ["*", "?", "[ab]", "[!a]", "[]-]", "[a-c.]", "[^\\]]", "[!-]", "[[:digit:]x]", "[é-🐢]"]


def pattern_of(text: str) -> NamePattern:
    component = components_of(text)[0]
    assert component is not None
    return component


@pytest.mark.parametrize("seed", range(4))
def test_it_gives_what_each_pattern_gives(seed: int) -> None:
    chance = random.Random(seed)
    texts = {
        "".join(chance.choices(PIECES + WILD * 2, k=chance.randint(1, 7))).replace("**", "*")
        for _ in range(300)
    }
    patterns = [pattern_of(text) for text in sorted(texts) if text not in ("*", "**")]
    together = ShiftAnd(patterns)
    letters = "aabBc.-]*[\\é🐢()|^$0x\n"
    matches = 0
    for _ in range(500):
        name = "".join(chance.choices(letters, k=chance.randint(0, 8)))
        expected = [number for number, each in enumerate(patterns) if each.matches(name)]
        matches += len(expected)
        assert sorted(together.all(name)) == expected, name
        assert together.last(name) == max(expected, default=-1)
    assert matches > 500


def test_names_of_many_alphabets_do_not_fill_the_memory() -> None:
    together = ShiftAnd([pattern_of("?[!a]*"), pattern_of("x*")])
    for code in range(0x100, 0x1000):
        assert together.last(chr(code) * 2) == 0
    assert len(together._known) <= 256
    assert list(together.all("xy")) == [1, 0]
    assert list(together.all("")) == []
