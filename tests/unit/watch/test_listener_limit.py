"""A system that has room for the watches of one set of folders, and not for two at once."""

import os
import threading
from collections.abc import Collection
from pathlib import Path

import pytest

from engine.cancellation import never
from engine.source.walker import WalkRules
from engine.watch import listener
from engine.watch.listener import EventSource, Listener, WatchLimitError
from tests.support.jobs import until
from tests.support.trees import write_tree


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many folders may be watched at once."""
    limit = [0]
    watched: dict[int, int] = {}

    class Limited(EventSource):
        """Counts as the system does."""

        def __init__(self, folders: Collection[str]) -> None:
            there = sum(os.path.isdir(folder) for folder in folders)  # one that is missing is free
            if sum(watched.values()) + there > limit[0]:
                raise WatchLimitError
            super().__init__(folders)
            watched[id(self)] = there

        def close(self) -> None:
            """Give the room back."""
            del watched[id(self)]
            super().close()

    monkeypatch.setattr(listener, "EventSource", Limited)
    return limit


def test_a_new_folder_is_watched_where_there_is_no_room_for_both_sets(
    tmp_path: Path, most: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # without .config/git, which is listened for
    root = write_tree(tmp_path / "tree", {f"f{n}/a.py": "x = 1\n" for n in range(5)})
    listening = Listener(str(root), threading.Event())
    most[0] = 100
    listening.listen(WalkRules(), cancelled=never)
    before = listening.folders
    most[0] = before + 2
    write_tree(root, {"new/b.py": "y = 1\n"})
    heard = listening.listen(WalkRules(), cancelled=never)
    assert "" in heard.paths  # all is compared, as changes in between were not heard
    assert (listening.is_on, listening.folders) == (True, before + 1)
    (root / "new/b.py").write_text("y = 2\n")
    until(lambda: "new/b.py" in listening.wait(0.1).paths)
    write_tree(root, {f"more{n}/c.py": "z = 1\n" for n in range(5)})
    with pytest.raises(WatchLimitError):
        listening.listen(WalkRules(), cancelled=never)
    assert not listening.is_on
    listening.close()
