"""Processes that ask the same question all the time, as open editors do, and tell what they heard.

Each says how many answers it had, and which of them differ: the paths of one answer, joined.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.command import ROOT, StartedProcess
from tests.support.patience import patience

_CODE = """
import json, select, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from engine.catalog import Catalog
from engine.config import load_config
from engine.search_records import Mode, SearchRequest
home, root, query = sys.argv[2:]
heard, number = [], 0
with Catalog(load_config(Path(home), workers=1), runs_jobs=False) as catalog:
    index = catalog.open(root)
    index.warm()
    last = None  # once it is told to end, it asks in each mode once more
    while last is None or number < last:
        if last is None and select.select([sys.stdin], [], [], 0)[0]:
            last = number + 3
        mode = (Mode.KEYWORD, Mode.HYBRID, Mode.MEANING)[number % 3]
        hits = index.search(SearchRequest(query=query, mode=mode, limit=50)).hits
        said = mode + ": " + " ".join(sorted({hit.path for hit in hits}))
        number += 1
        if said not in heard:
            heard.append(said)
        if number == 3:
            print("asking", flush=True)
    page = index.checkpoints.list(only_memories=True)
    saved = sorted(each.summary for each in page.checkpoints)
print(json.dumps({"answers": number, "heard": heard, "memories": saved}))
"""


class Asking:
    """A process that asks; what it heard is there when it has ended."""

    def __init__(self, process: StartedProcess) -> None:
        self._process = process
        self.answers = 0
        self.heard: list[str] = []
        self.memories: list[str] = []

    def end(self) -> None:
        """Let it end, and read what it heard."""
        out, _ = self._process.communicate(b"\n", timeout=patience(30))
        said = json.loads(out.splitlines()[-1])
        self.answers, self.heard = said["answers"], said["heard"]
        self.memories = said["memories"]


@contextmanager
def asking(home: Path, root: Path, query: str) -> Iterator[Asking]:
    """Start a process that asks an index, and wait until it has had three answers."""
    with StartedProcess(
        [sys.executable, "-c", _CODE, str(ROOT), str(home), str(root), query],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"asking\n"
        yield Asking(process)
