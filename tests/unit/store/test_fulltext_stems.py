"""Stems are those of the keyword index."""

import random
import re
import sqlite3
from pathlib import Path

import pytest

from engine.store.fulltext import stem_of

_ENDINGS = (
    " s es sses ies eed ed ing ated bling izing y ational tional enci anci izer logi bli alli entli"
    " eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti ical ness icate"
    " iciti ful ative alize al ance ence er ic able ible ant ement ment ent ion sion tion ou ism"
    " ate iti ous ive ize e ll lle"
).split(" ")


def _stems_in_sqlite(words: list[str]) -> list[str]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(w, tokenize = 'porter ascii')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    connection.executemany("INSERT INTO t(rowid, w) VALUES (?, ?)", enumerate(words))
    found = dict(connection.execute("SELECT doc, term FROM v"))
    connection.close()
    return [found[number] for number in range(len(words))]


def test_stems_are_those_of_the_keyword_index() -> None:
    rng = random.Random(7)
    texts = (path.read_text("utf-8") for path in Path(__file__).parents[3].glob("docs/*.md"))
    words = {word for text in texts for word in re.findall(r"[a-z]+", text.lower())}
    for _ in range(20_000):
        start = "".join(rng.choices("aeiouybcdlnrstz", k=rng.randint(0, 6)))
        words.add(start + rng.choice(_ENDINGS) + rng.choice(_ENDINGS))
    words |= {"x" * 64, "x" * 63 + "s", "x" * 64 + "s", "größe", "größen"}
    words |= {"és", "üs", "éed", "aés", "é" * 32 + "s", "é" * 31 + "s", "日本s", "日本ing"}
    listed = sorted(words - {""})
    assert [*map(stem_of, listed)] == _stems_in_sqlite(listed)


@pytest.mark.parametrize(
    ("one", "other"), [("cookies", "cookie"), ("signed", "signing"), ("queries", "query")]
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem_of(one) == stem_of(other)
