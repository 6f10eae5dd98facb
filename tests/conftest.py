"""Fixtures: a data directory, a catalog over it, and a small project."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config, load_config

# Who runs the tests in the background of a script has them ignore Ctrl-C, and with them every
# process that a test starts and interrupts, which then never ends.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Jobs and parsers yield to all who work (by 10). Several tests at once are always somebody who
# works: they yield nearly as much, or what one waits for would hardly run beside two others.
_NICENESS = 9
os.setpriority(os.PRIO_PROCESS, 0, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Settings with a data directory of the test's own and one parsing process."""
    return load_config(tmp_path / "home", workers=1)


@pytest.fixture
def catalog(config: Config) -> Iterator[Catalog]:
    """An open catalog; closed, with all its processes, when the test ends."""
    with Catalog(config) as catalog:
        yield catalog


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder to index."""
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder
