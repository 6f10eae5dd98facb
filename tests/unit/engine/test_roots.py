"""Resolving paths to roots."""

import errno
import os
from pathlib import Path

import pytest

from engine.roots import real_path, resolve


def test_a_link_that_is_replaced_while_it_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to("elsewhere")
    readlink = os.readlink

    def gone(path: str) -> str:
        """Take the link away between the two questions, as another process may."""
        if link.is_symlink():
            link.unlink()
            link.mkdir()
            raise OSError(errno.EINVAL, "Invalid argument", path)
        return readlink(path)

    monkeypatch.setattr(os, "readlink", gone)
    assert real_path(f"{link}/a.py") == f"{link}/a.py"
    link.rmdir()
    link.symlink_to("elsewhere")
    assert resolve(str(link)) == str(link)
