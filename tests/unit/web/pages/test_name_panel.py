"""Other projects are searched for a name, however long it takes to find out which there are."""

import time
from pathlib import Path

from engine.config import load_config
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree
from web.api.service import Service
from web.pages.name_panel import NameParams, name_panel
from web.pages.tree import Place
from web.security.server_settings import ServerSettings

_LONGER_THAN_THE_SEARCH_S = 0.5


class _Slow(Service):
    """A server that takes long to list its projects."""

    def roots(self) -> list[str]:
        time.sleep(_LONGER_THAN_THE_SEARCH_S)
        return super().roots()


def test_a_slow_list_of_projects_takes_no_time_from_the_search(tmp_path: Path) -> None:
    config = load_config(tmp_path / "home")
    with open_catalog(config) as catalog:
        for name, text in (("library", "def unknown(): pass\n"), ("shop", "unknown()\n")):
            catalog.create(str(write_tree(tmp_path / name, {"a.py": text}))).index()
        settings = ServerSettings(host="127.0.0.1", port=0, watches=False)
        service = _Slow(catalog=catalog, settings=settings, observer=catalog.observer("1"))
        place = Place(index=catalog.open(str(tmp_path / "shop")), path="a.py")
        panel = name_panel(service, place, NameParams(line=1, column=1), ())
        assert [each.project for each in panel.elsewhere] == ["library"]
