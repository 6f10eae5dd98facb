"""Symbols of infrastructure, data and page languages, found as people name them."""

from pathlib import Path

from engine.catalog import Catalog
from engine.project import Project
from engine.search_records import SearchRequest
from tests.support.trees import write_tree

_FILES = {
    "main.tf": 'resource "aws_instance" "web" {\n  ami = var.image\n}\nvariable "image" {}\n',
    "lib/shape.ml": "let area x = x * x\n",
    "lib/shape.mli": "val area : int -> int\n(** The area of a square. *)\n",
    "src/Shapes.jl": "module Shapes\nperimeter(x) = 4x\nend\n",
    "schema.sql": "CREATE TABLE app.people (\n  id int,\n  birthday date\n);\n",
    "Makefile": "deploy: build\n\tkubectl apply\n",
    "Dockerfile": "FROM python AS builder\nENV MODE=x\n",
    "site.css": ".modal-header { color: red }\n",
    "index.html": "<main id='content'>\n<h1>Getting started</h1>\n</main>\n",
}


def _index(catalog: Catalog, tree: Path) -> Project:
    write_tree(tree, _FILES)
    index = catalog.create(str(tree))
    index.index()
    return index


def test_definitions_by_name(catalog: Catalog, tree: Path) -> None:
    index = _index(catalog, tree)
    found = {
        name: [(symbol.path, symbol.kind) for symbol in index.symbols(name)]
        for name in (
            "aws_instance.web",
            "var.image",
            "perimeter",
            "app.people",
            "people.birthday",
            "deploy",
            "builder",
            "modal-header",
        )
    }
    assert found == {
        "aws_instance.web": [("main.tf", "instance")],
        "var.image": [("main.tf", "variable")],
        "perimeter": [("src/Shapes.jl", "function")],
        "app.people": [("schema.sql", "struct")],
        "people.birthday": [("schema.sql", "field")],
        "deploy": [("Makefile", "target")],
        "builder": [("Dockerfile", "target")],
        "modal-header": [("site.css", "selector")],
    }


def test_a_filter_for_ocaml_covers_its_interfaces(catalog: Catalog, tree: Path) -> None:
    index = _index(catalog, tree)

    def paths(query: str) -> set[str]:
        return {hit.path for hit in index.search(SearchRequest(query=query)).hits}

    assert paths("area lang:ocaml") == {"lib/shape.ml", "lib/shape.mli"}
    assert paths("area lang:ocaml-interface") == {"lib/shape.mli"}
    assert paths("area -lang:ocaml") == set()
    assert paths("started kind:section") == {"index.html"}
    assert paths("deploy kind:target") == {"Makefile"}
