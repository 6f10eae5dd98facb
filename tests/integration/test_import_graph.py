"""Which files and folders import which: real indexes of small trees, a few for each language."""

from pathlib import Path

import pytest

from engine.errors import Cancelled, InvalidInputError
from engine.reference_records import ImportGraph, ImportsRequest
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

#: A tree, its edges between files, and the modules of other projects.
_CASES: dict[str, tuple[dict[str, str], set[str], set[str]]] = {
    "python": (
        {
            "src/shop/__init__.py": "from .orders import place\n",
            "src/shop/orders.py": '''"""import nothing"""
import json, os.path
from . import stock
from .deep.inner import (
    one,  # of them
    two,
)
from shop.deep import inner as again


def late():
    import shop.late
''',
            "src/shop/stock.py": "from shop.json import dumps\n",
            "src/shop/json/__init__.py": "",
            "src/shop/late.py": "from .nowhere import x\n",
            "src/shop/deep/__init__.py": "",
            "src/shop/deep/inner.py": "one = two = 1  # import shop\n",
            "tests/test_shop.py": "import helpers\nfrom shop import orders, place\n",
            "tests/helpers.py": "import shop.orders as o\n",
        },
        {
            "src/shop/__init__.py > src/shop/orders.py",
            "src/shop/orders.py > src/shop/stock.py",
            "src/shop/orders.py > src/shop/deep/inner.py",
            "src/shop/orders.py > src/shop/late.py",
            "src/shop/stock.py > src/shop/json/__init__.py",
            "tests/test_shop.py > tests/helpers.py",
            "tests/test_shop.py > src/shop/orders.py",
            "tests/test_shop.py > src/shop/__init__.py",
            "tests/helpers.py > src/shop/orders.py",
        },
        {"json", "os"},
    ),
    "javascript": (
        {
            "a.js": """import { b } from './b';
import './effect.js';
export * from "./lib";
const c = require('./c.json');
const late = () => import('./late');
import React from 'react';
// import x from './nowhere';
const text = "import y from './nowhere'";
import z from '@scope/own/inner';
""",
            "b.ts": "import type { A } from './a.js';\nimport fs from 'node:fs';\n",
            "effect.js": "",
            "lib/index.tsx": "import q from '@other/pkg/deep';\n",
            "c.json": "{}\n",
            "late.mjs": "",
            "packages/own/package.json": '{\n  "name": "@scope/own"\n}\n',
            "packages/own/src/inner.ts": "",
        },
        {
            "a.js > b.ts",
            "a.js > effect.js",
            "a.js > lib/index.tsx",
            "a.js > c.json",
            "a.js > late.mjs",
            "a.js > packages/own/src/inner.ts",
            "b.ts > a.js",
        },
        {"react", "node:fs", "@other/pkg"},
    ),
    "vue": (
        {"App.vue": "<script>\nimport x from './x'\n</script>\n", "x.ts": ""},
        {"App.vue > x.ts"},
        set(),
    ),
    "go": (
        {
            "go.mod": "module example.org/shop\n\ngo 1.22\n",
            "main.go": 'package main\n\nimport (\n\t"fmt"\n\to "example.org/shop/orders"\n'
            '\t"github.com/a/b/c"\n)\n',
            "orders/a.go": 'package orders\n\nimport "example.org/shop/stock"\n',
            "stock/a.go": "package stock\n",
        },
        {"./ > orders/", "orders/ > stock/"},
        {"fmt", "github.com/a/b"},
    ),
    "rust": (
        {
            "Cargo.toml": '[package]\nname = "my-shop"\n',
            "src/lib.rs": "pub mod orders;\nmod stock;\nuse stock::Stock;\n",
            "src/orders/mod.rs": "mod line;\nuse crate::stock::{self, Stock, deep::More as M};\n"
            "use std::collections::HashMap;\nuse super::stock;\n",
            "src/orders/line.rs": "use super::super::stock::Stock;\n",
            "src/stock.rs": "use serde::{Serialize};\n",
            "tests/it.rs": "use my_shop::orders::Order;\n",
        },
        {
            "src/lib.rs > src/orders/mod.rs",
            "src/lib.rs > src/stock.rs",
            "src/orders/mod.rs > src/orders/line.rs",
            "src/orders/mod.rs > src/stock.rs",
            "src/orders/line.rs > src/stock.rs",
            "tests/it.rs > src/orders/mod.rs",
        },
        {"std", "serde"},
    ),
    "java": (
        {
            "app/src/org/shop/Main.java": "package org.shop;\nimport org.shop.orders.Order;\n"
            "import static org.shop.Util.twice;\nimport java.util.List;\n"
            "import org.shop.orders.$Order$Line;\n",
            "app/src/org/shop/orders/$Order$Line.java": "package org.shop.orders;\n",
            "app/src/org/shop/orders/Order.java": "package org.shop.orders;\n",
            "app/src/org/shop/Util.java": "package org.shop;\nimport org.shop.orders.*;\n",
        },
        {
            "app/src/org/shop/Main.java > app/src/org/shop/orders/Order.java",
            "app/src/org/shop/Main.java > app/src/org/shop/orders/$Order$Line.java",
            "app/src/org/shop/Main.java > app/src/org/shop/Util.java",
            "app/src/org/shop/Util.java > app/src/org/shop/orders/Order.java",
        },
        {"java.util"},
    ),
    "kotlin": (
        {
            "a.kt": "package org.shop\nimport org.stock.Stock\nimport kotlin.math.abs\n",
            "all.kt": "package org.stock\nclass Stock\n",
        },
        {"a.kt > all.kt"},
        {"kotlin.math"},
    ),
    "scala": (
        {
            "src/a/A.scala": "package a\nimport b.{B, C => D, E}\nimport scala.util.Try\n",
            "src/b/B.scala": "package b\nclass B\nclass C\n",
            "src/b/E.scala": "package b\nclass E\n",
        },
        {"src/a/A.scala > src/b/B.scala", "src/a/A.scala > src/b/E.scala"},
        {"scala.util"},
    ),
    "csharp": (
        {
            "Shop/A.cs": "using System.Text;\nusing Own.Stock;\nnamespace Own.Shop;\nclass A {}\n",
            "Stock/B.cs": "namespace Own.Stock { class B {} }\n",
        },
        {"Shop/ > Stock/"},
        {"System.Text"},
    ),
    "php": (
        {
            "src/A.php": "<?php\nnamespace App;\nuse App\\Stock\\{B, C};\nuse Foreign\\X;\n"
            "require __DIR__ . '/old.php';\n",
            "src/Stock/B.php": "<?php\nnamespace App\\Stock;\nclass B {}\n",
            "src/Stock/C.php": "<?php\nnamespace App\\Stock;\nclass C {}\n",
            "src/old.php": "<?php\n",
        },
        {
            "src/A.php > src/Stock/B.php",
            "src/A.php > src/Stock/C.php",
            "src/A.php > src/old.php",
        },
        {"Foreign"},
    ),
    "ruby": (
        {
            "lib/shop.rb": "require 'json'\nrequire 'shop/orders'\nrequire_relative 'shop/stock'\n",
            "lib/shop/orders.rb": "",
            "lib/shop/stock.rb": "",
            "tools/json.rb": "",
            "spec/spec_helper.rb": "",
            "spec/shop_spec.rb": "require 'spec_helper'\n",
        },
        {
            "lib/shop.rb > lib/shop/orders.rb",
            "lib/shop.rb > lib/shop/stock.rb",
            "spec/shop_spec.rb > spec/spec_helper.rb",
        },
        {"json"},
    ),
    "elixir": (
        {
            "lib/a.ex": "defmodule Shop.A do\n  alias Shop.{B, C}\n  use GenServer\n"
            "  import Shop.B\nend\n",
            "lib/b.ex": "defmodule Shop.B do\nend\n\ndefmodule Shop.C do\nend\n",
        },
        {"lib/a.ex > lib/b.ex"},
        {"GenServer"},
    ),
    "haskell": (
        {
            "src/Shop/A.hs": "module Shop.A where\nimport qualified Shop.B as B\n"
            "import Data.List (sort)\n",
            "src/Shop/B.hs": "module Shop.B (b) where\nb = 1\n",
        },
        {"src/Shop/A.hs > src/Shop/B.hs"},
        {"Data.List"},
    ),
    "c": (
        {
            "src/a.c": '#include <stdio.h>\n#include "a.h"\n#include "util/b.h"\n'
            '#include <shop/c.h>\n/* #include "nowhere.h" */\n',
            "src/a.h": "",
            "src/util/b.h": '#include "../a.h"\n',
            "include/shop/c.h": "",
        },
        {
            "src/a.c > src/a.h",
            "src/a.c > src/util/b.h",
            "src/a.c > include/shop/c.h",
            "src/util/b.h > src/a.h",
        },
        {"stdio.h"},
    ),
    "lua": (
        {"a.lua": 'local b = require "shop.b"\nrequire("socket")\n', "shop/b.lua": ""},
        {"a.lua > shop/b.lua"},
        {"socket"},
    ),
    "zig": (
        {"a.zig": 'const std = @import("std");\nconst b = @import("b.zig");\n', "b.zig": ""},
        {"a.zig > b.zig"},
        {"std"},
    ),
    "bash": (
        {"run.sh": '. "$(dirname "$0")/lib/b.sh"\nsource ./c.sh\n', "lib/b.sh": "", "c.sh": ""},
        {"run.sh > c.sh", "run.sh > lib/b.sh"},
        set(),
    ),
    "swift": (
        {
            "Sources/App/a.swift": "import Foundation\nimport Stock\n",
            "Sources/Stock/b.swift": "class B {}\n",
        },
        {"Sources/App/a.swift > Sources/Stock/"},
        {"Foundation"},
    ),
}


def _graph(tmp_path: Path, tree: dict[str, str], **options: object) -> ImportGraph:
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        return project.references.imports(ImportsRequest(**options))  # type: ignore[arg-type]


def _pairs(graph: ImportGraph) -> set[str]:
    return {f"{edge.source} > {edge.target}" for edge in graph.edges}


@pytest.mark.parametrize("language", _CASES)
def test_statements_mean_files(tmp_path: Path, language: str) -> None:
    tree, edges, outside = _CASES[language]
    graph = _graph(tmp_path, tree, files=True, external=True)
    assert _pairs(graph) == edges
    assert {each.name for each in graph.external} == outside
    assert graph.truncated is False


_CIRCLE = {
    "app/a/one.py": "import os\nfrom app.b.two import x\n",
    "app/a/more.py": "from app.b import two\n",
    "app/b/two.py": "from app.c.three import x\n",
    "app/c/three.py": "from app.a.one import x\nfrom app.nowhere import y\n",
    "app/d/four.py": "def f():\n    from app.e.five import x\n",
    "app/e/five.py": "from app.d.four import f\n",
    **{f"app/{name}/__init__.py": "" for name in "abcde"},
    "app/__init__.py": "",
}


def test_cycles_tell_the_imports_that_make_them(tmp_path: Path) -> None:
    graph = _graph(tmp_path, _CIRCLE)
    whole, late = graph.cycles
    assert (whole.members, whole.deferred) == (("app/a", "app/b", "app/c"), False)
    assert [(edge.source, edge.target, edge.imports) for edge in whole.edges] == [
        ("app/b", "app/c", 1),
        ("app/c", "app/a", 1),
        ("app/a", "app/b", 2),
    ]
    assert (whole.edges[1].path, whole.edges[1].line) == ("app/c/three.py", 1)
    assert (late.members, late.deferred) == (("app/d", "app/e"), True)
    assert [edge.deferred for edge in late.edges] == [True, False]
    assert (graph.total_cycles, graph.imports, graph.external_imports) == (2, 6, 1)
    assert graph.missing == 1


def test_folders_are_joined_below_a_depth(tmp_path: Path) -> None:
    assert _graph(tmp_path / "1", _CIRCLE, depth=1).edges == ()
    assert len(_graph(tmp_path / "2", _CIRCLE, depth=2).edges) == 5


def test_a_path_keeps_imports_from_and_of_it(tmp_path: Path) -> None:
    for home, path in (("1", "app/b/"), ("2", f"{tmp_path}/2/tree/app/b/")):
        graph = _graph(tmp_path / home, _CIRCLE, path=path)
        assert _pairs(graph) == {"app/a > app/b", "app/b > app/c"}
        assert (graph.cycles, graph.external) == ((), ())


def test_parts_of_a_module_make_no_cycle(tmp_path: Path) -> None:
    tree = {"src/lib.rs": "mod a;\n", "src/a.rs": "use crate::lib_item;\n"}
    graph = _graph(tmp_path, tree, files=True)
    assert _pairs(graph) == {"src/lib.rs > src/a.rs", "src/a.rs > src/lib.rs"}
    assert graph.cycles == ()


def test_a_limit_cuts(tmp_path: Path) -> None:
    graph = _graph(tmp_path / "1", _CIRCLE, limit=1)
    assert (len(graph.edges), graph.total, len(graph.cycles), graph.total_cycles) == (1, 5, 1, 2)
    assert graph.truncated is True
    with pytest.raises(InvalidInputError):
        _graph(tmp_path / "2", _CIRCLE, depth=0)


def test_reading_can_be_stopped(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", _CIRCLE)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        with pytest.raises(Cancelled):
            project.references.imports(ImportsRequest(), lambda: True)


def test_hostile_statements_end(tmp_path: Path) -> None:
    tree = {
        "a.rs": "use " + "a::{" * 3000 + "b" + "}" * 3000 + ";\n",
        "b.py": "from x import (" + "y, " * 5000 + ")\n" + "import " + "." * 5000 + "\n",
        "c.js": "import " * 5000 + "'./x'\n" + "from " * 5000 + "\n",
        "d.go": "import (\n" + '"x"\n' * 5000 + ")\n",
        "e.php": "<?php use " + "a\\" * 5000 + "{b};\n",
    }
    graph = _graph(tmp_path, tree, files=True)
    assert graph.edges == ()
