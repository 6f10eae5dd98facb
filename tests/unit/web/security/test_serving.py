"""What a server serves, which grows with what people index from its pages."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from web.security import serving
from web.security.serving import Serving


def _serving(*roots: str) -> Serving:
    return Serving(host="127.0.0.1", port=1, roots=roots)


def test_a_folder_that_joins_is_served_once_after_the_others() -> None:
    some = _serving("/a")
    for root in ("/c", "/b", "/a", "/c"):
        some.join(root)
    assert some.served() == ("/a", "/c", "/b")
    assert some.why_unwatched("/d")
    assert not some.why_unwatched("/b")


def test_where_all_are_served_nothing_joins() -> None:
    whole = _serving()
    for number in range(100):
        whole.join(f"/{number}")
    assert whole.served() is None
    assert whole._joined.roots() == ()


def test_of_many_that_join_the_last_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_MOST_JOINED", 3)
    some = _serving("/a")
    for number in range(5):
        some.join(f"/{number}")
    assert some.served() == ("/a", "/2", "/3", "/4")


def test_several_threads_join_and_ask() -> None:
    some = _serving("/a")

    def act(number: int) -> bool:
        some.join(f"/{number % 50}")
        return f"/{number % 50}" in (some.served() or ())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(act, range(2000)))
    assert len(some.served() or ()) == 51
