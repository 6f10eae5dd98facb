"""What was forgotten is remembered for a moment, and nothing else is."""

from web.api.service import RecentlyDeleted


def test_what_was_forgotten_is_known_for_five_minutes() -> None:
    now = [1000.0]
    farewells = RecentlyDeleted(lambda: now[0])
    farewells.note("a", "/home/me/app")
    now[0] += 299
    assert farewells.path_of("a") == "/home/me/app"
    assert farewells.path_of("b") is None
    now[0] += 2
    assert farewells.path_of("a") is None


def test_only_the_last_hundred_are_kept() -> None:
    farewells = RecentlyDeleted(lambda: 0.0)
    for number in range(101):
        farewells.note(str(number), f"/{number}")
    assert farewells.path_of("0") is None
    assert farewells.path_of("1") == "/1"
