"""Tiers of tests, and fixtures: a data directory, a catalog over it, and a small project.

A test without a marker is quick: ``make test`` and a plain ``pytest`` run it. What takes long for
what it is, because it starts many processes, breaks them or drives a browser, has the marker
``slow`` (``make test-all``, ``pytest -m slow``): all of ``tests/fault`` and ``tests/browser``
by the hook below, others by a mark of their own. ``make test-all`` also runs tests/property once
more, with all their examples (see tests/support/budget.py). What takes minutes has the marker
``soak``.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from engine.catalog import Catalog
from engine.config import Config, load_config
from tests.support.budget import ALL_EXAMPLES
from tests.support.catalogs import open_catalog

# Who runs the tests in the background of a script has them ignore Ctrl-C, and with them every
# process that a test starts and interrupts, which then never ends.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Jobs and parsers yield to all who work (by 10). Several tests at once are always somebody who
# works: they yield nearly as much, or what one waits for would hardly run beside two others.
_NICENESS = 9
os.setpriority(os.PRIO_PROCESS, 0, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))

# How long an example takes depends on what else the machine does.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

_TESTS = Path(__file__).parent
_SLOW_FOLDERS = ("browser", "fault", *(("property",) if ALL_EXAMPLES else ()))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import slow folders that the choice of markers leaves out, unless they are named."""
    is_slow = collection_path.parent == _TESTS and collection_path.name in _SLOW_FOLDERS
    return True if is_slow and str(config.option.markexpr).startswith("not slow") else None


@pytest.hookimpl(tryfirst=True)  # before the markers are chosen by
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in a slow folder."""
    for item in items:
        if item.path.relative_to(_TESTS).parts[0] in _SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Settings with a data directory of the test's own and one parsing process."""
    return load_config(tmp_path / "home", workers=1)


@pytest.fixture
def catalog(config: Config) -> Iterator[Catalog]:
    """An open catalog; closed, with all its processes, when the test ends."""
    with open_catalog(config) as catalog:
        yield catalog


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder to index."""
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder
