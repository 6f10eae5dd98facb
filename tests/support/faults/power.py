"""What a disk may hold after the power went, made from the record of a run.

What was synced is there. Of what was written since, each write is lost, torn between sectors, or
there, whatever came after it; so are the creation and the deletion of files until their folder is
synced, which SQLite does with a new WAL or journal. The shared memory of a WAL is always lost.
"""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.faults.vfs import Event

_LOST = 0.35
_TORN = 0.25
_JOURNALS = ("-wal", "-journal")


@dataclass(slots=True)
class _File:
    """A file: what the disk surely has, and what happened since."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Event] = field(default_factory=list)
    is_known: bool = False  # whether its folder surely names it
    is_gone: bool = False  # whether it was deleted, which its folder need not say yet


class Images:
    """Disks as they may be after each moment of a run.

    Args:
        events: The record.
        sector_bytes: What is written whole or not at all.
    """

    def __init__(self, events: Sequence[Event], *, sector_bytes: int) -> None:
        self._events = events
        self._sector_bytes = sector_bytes
        self._files: dict[str, _File] = {}
        self._at = 0
        #: The marks that were set before the moment reached.
        self.marks: list[Any] = []

    def advance(self, at: int) -> None:
        """Go on to the moment before the event of that number; there is no way back."""
        for event in self._events[self._at : at]:
            self._happen(event)
        self._at = max(self._at, at)

    def write(self, folder: Path, random_: random.Random) -> None:
        """Write one disk of this moment, all files by their names into one new folder."""
        folder.mkdir(parents=True)
        for path, file in self._files.items():
            is_there = file.is_known or random_.random() >= _LOST
            if file.is_gone and is_there:
                is_there = random_.random() < _LOST
            if is_there:
                content = self._content_of(file, random_)
                (folder / os.path.basename(path)).write_bytes(content)

    def _happen(self, event: Event) -> None:
        if event.kind == "mark":
            self.marks.append(event.mark)
            return
        if event.kind == "found":
            self._files[event.path] = _File(bytearray(event.data), is_known=True)
            return
        file = self._files.setdefault(event.path, _File())
        if event.kind == "create":
            self._files[event.path] = _File()
        elif event.kind == "delete":
            file.is_gone = True
            if event.offset:
                self._settle_folder()
        elif event.kind == "sync":
            for each in file.pending:
                _apply(file.durable, each)
            file.pending.clear()
            if event.path.endswith(_JOURNALS) and not file.is_known:
                self._settle_folder()
        else:
            file.pending.append(event)

    def _settle_folder(self) -> None:
        for path, file in list(self._files.items()):
            file.is_known = True
            if file.is_gone:
                del self._files[path]

    def _content_of(self, file: _File, random_: random.Random) -> bytes:
        content = bytearray(file.durable)
        for event in file.pending:
            fate = random_.random()
            if fate < _LOST:
                continue
            if fate < _LOST + _TORN and event.kind == "write":
                for part in self._sectors_of(event):
                    if random_.random() < 0.5:
                        _apply(content, part)
            else:
                _apply(content, event)
        return bytes(content)

    def _sectors_of(self, event: Event) -> list[Event]:
        """Cut a write where sectors begin."""
        parts = []
        at = event.offset
        end = at + len(event.data)
        while at < end:
            until = min(end, at - at % self._sector_bytes + self._sector_bytes)
            data = event.data[at - event.offset : until - event.offset]
            parts.append(event._replace(offset=at, data=data))
            at = until
        return parts


def _apply(content: bytearray, event: Event) -> None:
    if event.kind == "truncate":
        del content[event.offset :]
        return
    missing = event.offset - len(content)
    if missing > 0:
        content.extend(bytes(missing))
    content[event.offset : event.offset + len(event.data)] = event.data
