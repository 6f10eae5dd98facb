"""Parts of names are looked for in as many projects as a fixed amount of work allows."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from tests.support.trees import write_tree
from web.pages import suggest

if TYPE_CHECKING:
    from web.api.service import Service


def test_projects_are_read_up_to_a_number_of_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def open_session(): pass\n\n\ndef close_session(): pass\n"
    with Catalog(load_config(tmp_path / "home", workers=1)) as catalog:
        roots = [str(write_tree(tmp_path / name, {f"{name}.py": text})) for name in ("a", "b", "c")]
        for root in roots:
            catalog.create(root).index()
        service = cast("Service", SimpleNamespace(index_of=catalog.open))

        def read(most: int) -> int:
            monkeypatch.setattr(suggest, "_MOST_NAMES", most)
            return len(suggest.symbols_containing(service, roots, "n_sess", limit=8))

        assert [read(1), read(4), read(6)] == [1, 2, 3]
