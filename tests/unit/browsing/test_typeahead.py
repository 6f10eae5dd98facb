"""A few letters and the paths that are meant by them."""

import pytest

from engine.browsing.typeahead import Match, Pathfinder

PATHS = (
    "README.md",
    "app/session.py",
    "app/session_store.py",
    "app/http/session/views.py",
    "app/http/base.py",
    "lib/action_controller/base.rb",
    "lib/active_record/database.rb",
    "tests/test_session.py",
    "İstanbul/ß.py",
    "line\nbreak.py",
)


def _paths(matches: list[Match]) -> list[str]:
    return [match.path for match in matches]


@pytest.fixture(scope="module")
def finder() -> Pathfinder:
    return Pathfinder(PATHS)


def test_names_come_before_folders_and_the_whole_name_first(finder: Pathfinder) -> None:
    assert _paths(finder.find("session.py", 10))[:2] == ["app/session.py", "tests/test_session.py"]
    found = finder.find("session", 10)
    assert _paths(found)[:4] == [
        "app/session.py",
        "app/session_store.py",
        "tests/test_session.py",
        "app/http/session/views.py",
    ]
    assert [match.tier for match in found] == sorted(match.tier for match in found)


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("README.md", "README.md"),
        ("readme", "README.md"),
        ("actcontbase", "lib/action_controller/base.rb"),
        ("http/base.py", "app/http/base.py"),
        ("http base", "app/http/base.py"),
        ("base.rb", "lib/action_controller/base.rb"),
        ("  store  ", "app/session_store.py"),
        ("break", "line\nbreak.py"),
        ("ß", "İstanbul/ß.py"),
    ],
)
def test_what_is_meant_comes_first(finder: Pathfinder, typed: str, first: str) -> None:
    assert finder.find(typed, 5)[0].path == first


@pytest.mark.parametrize("typed", ["zzz", "session nothing", ".*", "(", "[", "\\", "x" * 5000])
def test_what_fits_nothing_finds_nothing(finder: Pathfinder, typed: str) -> None:
    assert finder.find(typed, 5) == []


def test_nothing_typed_gives_the_shortest_paths(finder: Pathfinder) -> None:
    assert _paths(finder.find(" ", 2)) == ["README.md", "line\nbreak.py"]


def test_marks_are_what_was_typed(finder: Pathfinder) -> None:
    for typed in ("session", "actcontbase", "app views", "e"):
        for match in finder.find(typed, 10):
            marked = "".join(match.path[start:end] for start, end in match.marks)
            assert sorted(marked.lower()) == sorted(typed.replace(" ", ""))


def test_marks_stay_in_place_behind_letters_that_get_longer_in_lower_case() -> None:
    finder = Pathfinder(["İİ/main.py", "İİ/m_a.py"])
    [match] = finder.find("main", 5)
    assert match.marks == ((3, 7),)
    [match] = finder.find("İ_a", 5)
    assert match.marks == ((1, 2), (4, 6))


@pytest.mark.parametrize("typed", ["\0", "base.py\0app", "py\0", "\ud800", "base\udcff"])
def test_what_no_path_can_have_is_found_in_none(finder: Pathfinder, typed: str) -> None:
    assert finder.find(typed, 5) == []


def test_a_project_without_files_has_no_paths() -> None:
    finder = Pathfinder([])
    assert finder.find("a", 5) == finder.find("", 5) == []
    assert finder.size_bytes < 100


def test_no_path_comes_twice_and_the_limit_holds(finder: Pathfinder) -> None:
    for typed in ("s", "e", "py", "a b"):
        for limit in (1, 3, 100):
            found = _paths(finder.find(typed, limit))
            assert len(found) == len(set(found)) <= limit


def test_letters_that_almost_fit_everywhere_take_no_time() -> None:
    # A pattern that tries again what has failed would never end here.
    finder = Pathfinder(["a" * 200 + f"/{n}" for n in range(50)])
    assert finder.find("a" * 60 + "b", 5) == []


@pytest.mark.parametrize("typed", ["ΟΔΟΣ", "οδος", "ΟΔΟΣ.TXT", "src/οδος.txt"])
def test_a_sigma_is_found_wherever_a_word_ends(typed: str) -> None:
    [found] = Pathfinder(["src/ΟΔΟΣ.txt", "src/other.txt"]).find(typed, 5)
    assert found.path == "src/ΟΔΟΣ.txt"
