"""The background tasks of a server that fail: the others go on, and the log is not flooded."""

import threading
from itertools import count, cycle
from pathlib import Path
from typing import Any

import jinja2
import pytest
from pygments.lexers import GoLexer, PythonLexer

from engine.cancellation import CancelToken
from engine.catalog import Catalog
from engine.errors import IndexBusyError, UnavailableError
from tests.support.jobs import until
from tests.support.patience import patience
from tests.support.trees import write_tree
from web.app import BackgroundTasks
from web.pages.rendering import Pages
from web.security.server_settings import ServerSettings


class _Waits(threading.Event):
    """An event that is never waited for, and set after some waits."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Return whether there were enough waits."""
        self.waits.append(timeout)
        if len(self.waits) > self.most:
            self.set()
        return self.is_set()


def _tasks(catalog: Catalog, told: list[tuple[str, str]], *roots: str) -> BackgroundTasks:
    where = ServerSettings(host="127.0.0.1", port=0, roots=roots, watches=False)
    return BackgroundTasks(catalog, where, lambda what, **more: told.append((what, more["reason"])))


def test_a_task_that_fails_unforeseen_is_noted_and_begun_again(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.app._PATIENCE_S", 0.0)
    tries = count()
    is_back = threading.Event()

    def update(_: CancelToken) -> None:
        if not next(tries):
            raise RuntimeError("nobody foresaw this")
        is_back.set()

    monkeypatch.setattr(catalog, "update_ngram_filters", update)
    told: list[tuple[str, str]] = []
    upkeep = _tasks(catalog, told)
    upkeep.start()
    try:
        assert is_back.wait(patience(15))
    finally:
        upkeep.stop()
    assert told == [("task_failed", "update_ngram_filters: RuntimeError: nobody foresaw this")]


def test_templates_and_lexers_are_made_before_they_are_asked_for(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tree, {"a.py": "def one():\n    return 1\n", "b.go": "package b\n"})
    catalog.create(str(tree)).index()
    lexers = (PythonLexer, GoLexer)
    for each in lexers:  # which keep what another test made
        monkeypatch.delattr(each, "_tokens", raising=False)
    compiled: list[str] = []
    compile_ = jinja2.Environment.compile

    def noted(self: jinja2.Environment, source: str, name: str, *more: Any) -> object:
        compiled.append(name)
        return compile_(self, source, name, *more)

    monkeypatch.setattr(jinja2.Environment, "compile", noted)
    pages = Pages()
    where = ServerSettings(host="127.0.0.1", port=0, watches=False)
    upkeep = BackgroundTasks(catalog, where, lambda *_, **__: None, pages)
    upkeep.start()
    try:
        until(lambda: len(compiled) == len(pages.template_names()))
    finally:
        upkeep.stop()
    for name in pages.template_names():
        pages.load(name)
    assert sorted(compiled) == sorted(pages.template_names())
    assert all("_tokens" in vars(each) for each in lexers)


def test_a_lasting_task_that_keeps_failing_is_noted_once(catalog: Catalog) -> None:
    told: list[tuple[str, str]] = []
    upkeep = _tasks(catalog, told)
    upkeep._stop = stop = _Waits(5)
    tries = []

    def act() -> None:
        tries.append(1)
        raise RuntimeError("nobody foresaw this")

    upkeep._keep_up("act", act, is_lasting=True)
    assert len(tries) == len(stop.waits) == 6
    assert told == [("task_failed", "act: RuntimeError: nobody foresaw this")]


def test_a_task_of_the_start_is_done_once_even_if_it_fails(catalog: Catalog) -> None:
    told: list[tuple[str, str]] = []
    tries = []

    def act() -> None:
        tries.append(1)
        raise RuntimeError("nobody foresaw this")

    _tasks(catalog, told)._keep_up("act", act, is_lasting=False)
    assert len(tries) == len(told) == 1


def test_a_root_that_fails_unforeseen_costs_the_others_nothing(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, str]] = []
    submitted: list[str] = []

    def submit(root: str) -> None:
        submitted.append(root)
        if root == "/b":
            raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(catalog.jobs, "submit", submit)
    _tasks(catalog, told, "/a", "/b", "/c")._index_roots()
    assert submitted == ["/a", "/b", "/c"]
    assert told == [("not_indexed", "RuntimeError: nobody foresaw this")]


def test_a_root_whose_database_is_locked_at_the_start_is_indexed_later(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.app._LOOK_S", 0.0)
    told: list[tuple[str, str]] = []
    submitted: list[str] = []

    def submit(root: str) -> None:
        submitted.append(root)
        if root == "/b" and submitted.count(root) < 3:
            raise IndexBusyError("the index is locked by another process")

    monkeypatch.setattr(catalog.jobs, "submit", submit)
    _tasks(catalog, told, "/a", "/b", "/c")._index_roots()
    assert submitted == ["/a", "/b", "/c", "/b", "/b"]
    assert told == []


def test_a_root_that_cannot_be_watched_costs_the_others_nothing(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = [str(write_tree(tmp_path / name, {"one.py": "x = 1\n"})) for name in ("a", "b", "c")]
    for root in roots:
        catalog.create(root)
    tried: list[str] = []
    watch = catalog.watch

    def watched(root: str, *, create: bool) -> object:
        tried.append(root)
        if root == roots[1]:
            raise RuntimeError("nobody foresaw this")
        return watch(root, create=create)

    monkeypatch.setattr(catalog, "watch", watched)
    told: list[tuple[str, str]] = []
    upkeep = _tasks(catalog, told, *roots)
    upkeep._stop = _Waits(3)
    upkeep._watch()
    assert tried == roots  # nor is it tried again and again
    assert told == [("not_watched", "RuntimeError: nobody foresaw this")]


def test_a_root_that_cannot_be_prepared_costs_the_others_and_what_follows_nothing(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = []
    for name in ("a", "b", "c"):
        root = write_tree(tmp_path / name, {"one.py": "def one():\n    return 1\n"})
        projects.append(catalog.create(str(root)))
        projects[-1].index()

    def languages() -> None:
        raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(projects[1].browse, "languages", languages)
    told: list[tuple[str, str]] = []
    _tasks(catalog, told, *(each.root for each in projects))._warm()
    failed = "RuntimeError: nobody foresaw this"
    assert told == [
        ("task_failed", f"load_languages: {failed}"),
        ("task_failed", f"warm_pages: {failed}"),
    ]
    assert [each._searcher._expects_patterns for each in projects] == [True, True, True]


def _run_jobs_that_fail(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[str, str]], list[float | None]]:
    """Let each second look for a runner fail; return what is noted, and the waits."""
    fails = cycle([False, True])

    def ensure_runner() -> bool:
        if next(fails):
            raise UnavailableError("running jobs has failed")
        return False

    monkeypatch.setattr(catalog.jobs, "ensure_runner", ensure_runner)
    told: list[tuple[str, str]] = []
    upkeep = _tasks(catalog, told)
    upkeep._stop = stop = _Waits(16)
    upkeep._run_jobs()
    return told, stop.waits


def test_a_runner_that_always_fails_is_noted_once_and_started_ever_more_rarely(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, waits = _run_jobs_that_fail(catalog, monkeypatch)
    assert told == [("no_runner", "running jobs has failed")]
    assert waits[:12] == [0.0, 0.5, 1.0, 0.5, 2.0, 0.5, 4.0, 0.5, 8.0, 0.5, 15.0, 0.5]
    assert waits[14] == 15.0


def test_a_runner_that_fails_after_a_long_life_is_noted_again(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.app._LIVED_S", -1.0)
    told, waits = _run_jobs_that_fail(catalog, monkeypatch)
    assert told == [("no_runner", "running jobs has failed")] * 8
    assert set(waits[1:]) == {0.5, 1.0}
