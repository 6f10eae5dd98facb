"""Where an imported name comes from, by what its import says."""

import pytest

from engine.references.imports import Module, alias_at, likeness, module_of


@pytest.mark.parametrize(
    ("language", "text", "name", "expected"),
    [
        ("python", "from app.session import (\n    Store,\n    open_all,\n)\n", "open_all",
         Module(("app", "session"))),
        ("python", "from a import b\nfrom ..core import url\n", "url",
         Module(("src", "core"), is_whole=True)),
        ("python", "from .utils import (  # noqa: F401\n    one,\n)\n", "one",
         Module(("src", "app", "utils"), is_whole=True)),
        ("python", "import json\n", "json", None),
        ("typescript", "import { a,\n  b } from '../util/object-utils.js'\n", "b",
         Module(("src", "util", "object-utils"), is_whole=True)),
        ("typescript", 'import type { C } from "@trpc/server/adapters/fetch"\n', "C",
         Module(("server", "adapters", "fetch"), is_package=True)),
        ("javascript", "export { one } from './index'\n", "one",
         Module(("src", "app"), is_whole=True)),
        ("rust", "use crate::{config::Profile, list::{Owned, Instance}, run};\n", "Instance",
         Module(("list",))),
        ("rust", "use a::b;\nuse std::sync::Arc;\n", "Arc", Module(("std", "sync"))),
        ("java", "import org.jsoup.nodes.Element;\n", "Element", Module(("org", "jsoup", "nodes"))),
        ("php", "use League\\Flysystem\\Config;\n", "Config", Module(("League", "Flysystem"))),
        ("bash", "source lib.sh\n", "lib", None),
    ],
)  # fmt: skip
def test_modules_of_imports(language: str, text: str, name: str, expected: Module | None) -> None:
    data = text.encode()
    assert module_of(data, data.index(name.encode()), language, "src/app/main.x") == expected


@pytest.mark.parametrize("line", [b"." * 4000 + b";", b"a." * 2000 + b";", b"a .b" * 1000 + b";"])
def test_a_long_line_without_an_import_is_read(line: bytes) -> None:
    assert module_of(line + b"x", len(line), "java", "A.java") is None


@pytest.mark.parametrize(
    ("module", "path", "expected"),
    [
        (Module(("app", "session")), "src/app/session.py", 2),
        (Module(("app",)), "src/app/session.py", 1),
        (Module(("app",)), "src/app/__init__.py", 2),
        (Module(("mylib", "session")), "python/session.py", 1),
        (Module(("json",)), "src/app/session.py", 0),
        (Module(("src", "a"), is_whole=True), "src/a.ts", 2),
        (Module(("src", "a"), is_whole=True), "src/a/index.ts", 2),
        (Module(("src", "a"), is_whole=True), "src/a/inner.ts", 1),
        (Module(("src", "a"), is_whole=True), "lib/src/a.ts", 0),
        (Module(("server", "adapters"), is_package=True), "packages/server/src/adapters/x.ts", 1),
        (Module(("react",), is_package=True), "src/app.ts", 0),
        (Module(()), "src/app.ts", 0),
    ],
)
def test_how_well_a_file_can_be_a_module(module: Module, path: str, expected: int) -> None:
    assert likeness(module, path) == expected


def test_names_given_by_an_import() -> None:
    text = b"from a import b as c, d\n"
    assert alias_at(text, text.index(b"b as") + 1) == "c"
    assert alias_at(text, text.index(b"d") + 1) is None
