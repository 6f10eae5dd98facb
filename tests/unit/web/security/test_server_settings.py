"""What a server serves, which grows with what people index from its pages."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from web.errors import Refusal
from web.security import server_settings
from web.security.access import Hosts
from web.security.server_settings import ServerSettings, is_loopback


def _serving(*roots: str) -> ServerSettings:
    return ServerSettings(host="127.0.0.1", port=1, roots=roots)


def test_a_folder_that_joins_is_served_once_after_the_others() -> None:
    some = _serving("/a")
    for root in ("/c", "/b", "/a", "/c"):
        some.add_folder(root)
    assert some.served_roots() == ("/a", "/c", "/b")
    assert some.unwatched_reason("/d")
    assert not some.unwatched_reason("/b")


def test_where_all_are_served_nothing_joins() -> None:
    whole = _serving()
    for number in range(100):
        whole.add_folder(f"/{number}")
    assert whole.served_roots() is None
    assert whole._added_folders.roots() == ()


def test_of_many_that_join_the_last_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_settings, "_MOST_ADDED", 3)
    some = _serving("/a")
    for number in range(5):
        some.add_folder(f"/{number}")
    assert some.served_roots() == ("/a", "/2", "/3", "/4")


def test_a_client_of_a_socket_of_both_families_has_its_own_address() -> None:
    assert is_loopback("::ffff:127.0.0.1")
    assert not is_loopback("::ffff:192.0.2.7")
    hosts = Hosts(ServerSettings(host="::", port=7331))
    hosts.check_host([b"192.0.2.7:7331"], "::ffff:192.0.2.7")
    hosts.check_host([b"[2001:db8::7]:7331"], "2001:db8::7")
    with pytest.raises(Refusal):
        hosts.check_host([b"192.0.2.8:7331"], "::ffff:192.0.2.7")


def test_several_threads_join_and_ask() -> None:
    some = _serving("/a")

    def act(number: int) -> bool:
        some.add_folder(f"/{number % 50}")
        return f"/{number % 50}" in (some.served_roots() or ())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(act, range(2000)))
    assert len(some.served_roots() or ()) == 51
