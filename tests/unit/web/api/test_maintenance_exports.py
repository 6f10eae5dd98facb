"""Exports: a few at once, closed at the end, and given up when nobody takes them."""

import asyncio
from pathlib import Path

import pytest

from engine.errors import ConflictError
from web.api.maintenance import Exports


def test_a_fourth_has_to_wait_until_one_has_ended(tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(b"x")

    async def story() -> None:
        exports = Exports()
        first, _, _ = [exports.begin() for _ in range(3)]
        with pytest.raises(ConflictError, match="3 exports are already running"):
            exports.begin()
        file = open(tmp_path / "copy", "rb")  # noqa: SIM115, ASYNC230 - the export closes it
        first.attach(file)
        first.close()
        first.close()
        assert (file.closed, first.is_closed) == (True, True)
        exports.begin()
        with pytest.raises(ConflictError):
            exports.begin()

    asyncio.run(story())


def test_one_that_nobody_takes_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(b"x")

    async def story() -> None:
        exports = Exports(patience_s=0.01)
        left = [exports.begin() for _ in range(3)]
        files = [open(tmp_path / "copy", "rb") for _ in left]  # noqa: SIM115, ASYNC230
        for export, file in zip(left, files, strict=True):
            export.attach(file)
        for _ in range(1000):
            if all(export.is_closed for export in left):
                break
            await asyncio.sleep(0.01)
        assert all(file.closed for file in files)
        exports.begin().close()

    asyncio.run(story())
