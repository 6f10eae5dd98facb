"""What is kept, and what goes when there is no more room."""

from engine.cache import LruCache


def test_what_was_used_least_recently_goes_first() -> None:
    recent: LruCache[str, int] = LruCache(30)
    for number, key in enumerate("abc"):
        recent.put(key, number, 10)
    assert recent.get("a") == 0
    recent.put("d", 3, 10)
    assert [recent.get(key) for key in "abcd"] == [0, None, 2, 3]
    assert recent.size_bytes == 30


def test_a_value_put_again_counts_once() -> None:
    recent: LruCache[str, int] = LruCache(30)
    recent.put("a", 1, 20)
    recent.put("a", 2, 25)
    assert (recent.get("a"), recent.size_bytes) == (2, 25)


def test_a_value_that_does_not_fit_leaves_the_others() -> None:
    recent: LruCache[str, int] = LruCache(30)
    recent.put("a", 1, 20)
    recent.put("b", 2, 31)
    assert (recent.get("a"), recent.get("b")) == (1, None)
