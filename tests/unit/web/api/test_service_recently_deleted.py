"""What was forgotten is remembered for a moment, and nothing else is."""

from web.api.service import RecentlyDeleted


def test_what_was_forgotten_is_known_for_five_minutes() -> None:
    now = [1000.0]
    recently_deleted = RecentlyDeleted(lambda: now[0])
    recently_deleted.note("a", "/home/me/app", ["work"])
    now[0] += 299
    assert recently_deleted.of("a") == ("/home/me/app", ["work"])
    assert recently_deleted.of("b")[0] is None
    now[0] += 2
    assert recently_deleted.of("a") == (None, ())


def test_only_the_last_hundred_are_kept() -> None:
    recently_deleted = RecentlyDeleted(lambda: 0.0)
    for number in range(101):
        recently_deleted.note(str(number), f"/{number}")
    assert recently_deleted.of("0")[0] is None
    assert recently_deleted.of("1")[0] == "/1"
