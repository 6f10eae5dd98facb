import pytest

from engine.watch.debounce import MAX_EVENTS, MAX_PATHS, PendingPaths, collapse_paths


def test_paths_wait_until_nothing_more_comes() -> None:
    pending = PendingPaths(0.5)
    assert pending.due_s() is None
    pending.add({"a"}, 10.0)
    assert pending.due_s() == 10.5
    pending.add({"b"}, 10.3)
    assert pending.due_s() == 10.8
    assert pending.take() == ("a", "b")
    assert (pending.due_s(), len(pending)) == (None, 2)
    pending.succeeded()
    assert len(pending) == 0


def test_a_steady_stream_is_looked_at_every_two_seconds() -> None:
    pending = PendingPaths(0.5)
    for tenth in range(40):
        pending.add({"a"}, 10.0 + tenth / 10)
    assert pending.due_s() == 12.0


def test_the_whole_project_does_not_wait_and_stands_for_all() -> None:
    pending = PendingPaths(0.5)
    pending.add({"a"}, 10.0)
    pending.add_whole(10.1)
    assert (len(pending), pending.due_s()) == (1, 10.1)
    pending.add({"b"}, 10.2)
    assert pending.take() is None
    pending.add({"c", ""}, 11.0)
    assert pending.take() is None
    pending.add({"d"}, 12.0)
    assert pending.take() == ("d",)


def test_many_events_are_a_burst() -> None:
    pending = PendingPaths(0.5)
    pending.add({"a"}, 1.0, events=MAX_EVENTS)
    pending.add({"a"}, 1.0, events=1)
    assert pending.take() is None
    pending.add({"a"}, 2.0, events=1)
    assert pending.take() == ("a",)


def test_what_failed_is_tried_again_later_each_time() -> None:
    pending = PendingPaths(0.5)
    pending.add({"a"}, 0.0)
    waits = []
    for _ in range(9):
        taken = pending.take()
        pending.put_back(taken, 100.0)
        due_s = pending.due_s()
        assert due_s is not None
        waits.append(due_s - 100.0)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    pending.add({"b"}, 110.0)
    assert pending.due_s() == 160.0
    assert pending.take() == ("a", "b")
    pending.succeeded()
    pending.add({"c"}, 120.0)
    assert pending.due_s() == 120.5


@pytest.mark.parametrize(("paths", "longest_s"), [(("a",), 8.0), (None, 60.0)])
def test_paths_that_are_held_up_are_tried_often(
    paths: tuple[str, ...] | None, longest_s: float
) -> None:
    pending = PendingPaths(0.5)
    for _ in range(9):
        pending.put_back(paths, 100.0, is_held_up=True)
        pending.take()
    pending.put_back(paths, 100.0, is_held_up=True)
    assert pending.due_s() == 100.0 + longest_s


def test_a_whole_counts_the_changes_that_are_known() -> None:
    pending = PendingPaths(0.5)
    pending.add_whole(0.0)
    assert len(pending) == 1
    pending.add({f"a{number}" for number in range(10)}, 0.0)
    pending.add({f"b{number}" for number in range(20)}, 1.0)
    pending.add({"a1", "b1"}, 1.0)
    assert len(pending) == 30
    taken = pending.take()
    assert (taken, len(pending)) == (None, 30)
    pending.found(f"a{number}" for number in range(25))
    pending.put_back(taken, 2.0)
    assert len(pending) == 25
    pending.add({"a1", "c"}, 3.0)
    assert len(pending) == 26
    assert pending.take() is None
    pending.succeeded()
    pending.add_whole(4.0)
    assert len(pending) == 1
    pending.clear()
    assert (len(pending), pending.due_s()) == (0, None)


def test_a_folder_counts_for_the_changes_in_it() -> None:
    pending = PendingPaths(0.5)
    pending.add({"made"}, 0.0)
    taken = pending.take()
    pending.found(f"made/{number}.py" for number in range(30))
    pending.put_back(taken, 1.0, is_held_up=True)
    assert len(pending) == 30
    pending.add({"made/30.py"}, 2.0)
    assert (len(pending), pending.take()) == (31, ("made",))
    pending.add({"later.py"}, 3.0)
    pending.succeeded()
    assert (len(pending), pending.take()) == (1, ("later.py",))


def test_a_whole_that_failed_stays_whole() -> None:
    pending = PendingPaths(0.5)
    pending.put_back(None, 0.0)
    assert pending.take() is None


def test_paths_below_others_are_left_out() -> None:
    assert collapse_paths(["a/b", "a", "c/d"]) == ("a", "c/d")
    assert collapse_paths([]) == ()


def test_folders_stand_for_crowds_and_too_many_paths_for_everything() -> None:
    crowded = [f"f{number % 40}/{number}.py" for number in range(MAX_PATHS + 1)]
    assert collapse_paths([*crowded, "one/x.py"]) == (
        *sorted(f"f{n}" for n in range(40)),
        "one/x.py",
    )
    assert collapse_paths([f"{number}/x.py" for number in range(MAX_PATHS + 1)]) is None
    assert collapse_paths([f"{number}.py" for number in range(MAX_PATHS + 1)]) is None
