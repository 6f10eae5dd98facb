"""Keys of JSON, YAML and TOML."""

import pytest

from engine.syntax.keys import MAX_BYTES, MAX_KEYS
from engine.syntax.parser import parse
from tests.support.symbol_rows import rows_of


def _keys(source: str, language: str) -> list[tuple[str, str, int, int, int]]:
    return [(row[0], row[1], row[2], row[3], row[5]) for row in rows_of(source, language)]


def _names(source: str, language: str) -> list[str]:
    return [row[1] for row in rows_of(source, language)]


def test_json_objects_and_scripts() -> None:
    source = """
    {
      "name": "shop",
      "files": [
        "a",
        {
          "b": {}
        }
      ],
      "scripts": {
        "build": "tsc -p .",
        "test:unit": "vitest"
      },
      "config": {
        "plain": 1,
        "inner": {
          "deep": {
            "deeper": {
              "deepest": 1
            }
          }
        }
      },
      "one": { "line": { "x": 1 } },
      "empty": {},
      "list": [1, 2],
      "last": {
      }
    }
    """
    assert _keys(source, "json") == [
        ("property", "name", 2, 2, -1),
        ("property", "files", 3, 8, -1),
        ("section", "scripts", 9, 12, -1),
        ("property", "scripts.build", 10, 10, 2),
        ("property", "scripts.test:unit", 11, 11, 2),
        ("section", "config", 13, 22, -1),
        ("section", "config.inner", 15, 21, 5),
        ("section", "config.inner.deep", 16, 20, 6),
        ("property", "one", 23, 23, -1),
        ("property", "empty", 24, 24, -1),
        ("property", "list", 25, 25, -1),
        ("section", "last", 26, 27, -1),
    ]


def test_json_with_comments_and_tabs() -> None:
    source = '// compiler\n{\n\t// what is built\n\t"include": ["src"],\n'
    source += '\t"options": {\n\t\t"strict": {\n\t\t}\n\t}\n}'
    rows = rows_of(source, "json")
    assert [(row[1], row[7]) for row in rows] == [
        ("include", "what is built"),
        ("options", ""),
        ("options.strict", ""),
    ]


@pytest.mark.parametrize("source", ['[\n  {\n    "a": {\n    }\n  }\n]', "", "7", '"a"', "{}"])
def test_json_that_is_no_object_has_no_keys(source: str) -> None:
    assert _names(source, "json") == []


def test_a_key_without_letters_passes_its_children_on() -> None:
    source = """
    {
      "exports": {
        ".": {
          "import": {
          }
        }
      }
    }
    """
    assert _keys(source, "json") == [
        ("section", "exports", 2, 7, -1),
        ("section", "exports...import", 4, 5, 0),
    ]


def test_yaml_workflow() -> None:
    source = """
    name: CI
    on: [push]
    env:
      A: 1

    # Runs everything.
    jobs:
      # The fast ones.
      unit:
        runs-on: linux
        steps:
        - name: Check out
          uses: a/b
        - run: |
            make: it
            jobs:
        strategy:
          matrix:
            os: [a]
      "late one":
        needs: unit
    """
    assert _keys(source, "yaml") == [
        ("property", "name", 1, 1, -1),
        ("property", "on", 2, 2, -1),
        ("section", "env", 3, 4, -1),
        ("section", "jobs", 7, 21, -1),
        ("section", "jobs.unit", 9, 19, 3),
        ("section", "jobs.unit.strategy", 17, 19, 4),
        ("section", "jobs.late one", 20, 21, 3),
    ]
    docs = {row[1]: row[7] for row in rows_of(source, "yaml")}
    assert (docs["jobs"], docs["jobs.unit"]) == ("Runs everything.", "The fast ones.")


def test_yaml_texts_anchors_and_templates() -> None:
    source = """
    {{- if .Values.on }}
    base: &base
      a: 1
    text: >-
      not: a key
        nor: this
    'quoted': !tag # comment
      b: 2
    url: http://a.b:80
    plain: x
      y: z
    {{- end }}
    <<: *base
    services:
      web:
        image: a:b
      db:
        - c
    """
    assert _names(source, "yaml") == [
        "base",
        "text",
        "quoted",
        "url",
        "plain",
        "services",
        "services.web",
    ]


def test_kubernetes_objects_have_their_names() -> None:
    source = """
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: "shop" # front
      labels:
        a: b
    spec:
      replicas: 2
    ---
    kind: Service
    apiVersion: v1
    metadata:
      name: shop-db
    """
    assert _keys(source, "yaml") == [
        ("section", "Deployment.shop", 1, 8, -1),
        ("section", "Deployment.shop.metadata", 3, 6, 0),
        ("section", "Deployment.shop.spec", 7, 8, 0),
        ("section", "Service.shop-db", 10, 13, -1),
        ("section", "Service.shop-db.metadata", 12, 13, 3),
    ]


def test_openapi_operations_are_named_by_method_and_path() -> None:
    source = """
    openapi: 3.1.0
    paths:
      /users:
        get:
          summary: List them
        parameters:
          - name: a
    """
    assert _keys(source, "yaml")[1:] == [
        ("section", "paths", 2, 7, -1),
        ("section", "paths./users", 3, 7, 1),
        ("section", "paths./users.GET /users", 4, 5, 2),
    ]


def test_named_items_of_a_list_at_the_top() -> None:
    source = """
    # Play.
    - name: Install nginx
      hosts: web
      tasks:
        - name: inner
    - import: other.yml
    - name: 'Start it' # now
      service:
        state: started
    """
    assert _keys(source, "yaml") == [
        ("section", "Install nginx", 2, 5, -1),
        ("section", "Start it", 7, 9, -1),
    ]


def test_toml_tables() -> None:
    source = '''
    title = "a"
    "quoted key".part = 1
    notes = """
    [no.table]
    no = "key"
    """

    [project]
    name = "shop"

    # Commands.
    [project.scripts]
    shop = "shop.cli:main"

    [tool.ruff]
    lines = [
      [1, 2],
    ]
    [tool.ruff.lint."per file"] # here
    a = 1

    [[bin]]
    path = "x"
    name = "shopd"
    [[bin]]
    [a.b.c.d.e.f]
    [broken
    [also..broken]
    '''
    assert _keys(source, "toml") == [
        ("property", "title", 1, 1, -1),
        ("property", "quoted key.part", 2, 2, -1),
        ("property", "notes", 3, 6, -1),
        ("section", "project", 8, 13, -1),
        ("section", "project.scripts", 12, 13, 3),
        ("property", "project.scripts.shop", 13, 13, 4),
        ("section", "tool.ruff", 15, 20, -1),
        ("section", "tool.ruff.lint.per file", 19, 20, 6),
        ("section", "bin.shopd", 22, 24, -1),
        ("section", "bin", 25, 25, -1),
        ("section", "a.b.c.d.e.f", 26, 27, -1),
    ]


def test_many_keys_leave_out_the_deepest() -> None:
    deep = "".join(f"  k{n}:\n    a: 1\n" for n in range(MAX_KEYS))
    assert _names(f"one:\n{deep}two: 2\n", "yaml") == ["one", "two"]
    flat = "".join(f"k{n}: {n}\n" for n in range(MAX_KEYS + 1))
    assert _names(flat, "yaml") == []
    assert len(_names(flat.removeprefix("k0: 0\n"), "yaml")) == MAX_KEYS


@pytest.mark.parametrize(
    ("language", "line"), [("json", '"k": {},\n'), ("yaml", "k: v\n"), ("toml", "k = 1\n")]
)
def test_large_files_are_data(language: str, line: str) -> None:
    text = b"{\n" * (language == "json") + line.encode()
    small = parse(text + b" " * (MAX_BYTES - len(text)), language, deadline_ms=600_000)
    assert (len(small.symbols), small.result) == (1, "ok")
    large = parse(text + b" " * MAX_BYTES, language, deadline_ms=600_000)
    assert (large.symbols, large.result) == ([], "no_grammar")


@pytest.mark.parametrize("language", ["json", "yaml", "toml"])
@pytest.mark.parametrize(
    "piece",
    [b"- ", b"? ", b"[", b"{", b"a: ", b"&", b'"', b"'''", b"---\n", b"a:\n ", b"[a]\n", b"\\"],
)
def test_hostile_texts_are_read_to_their_end(language: str, piece: bytes) -> None:
    text = (piece * MAX_BYTES)[:MAX_BYTES]
    parsed = parse(text, language, deadline_ms=600_000)
    assert parsed.result == "ok"
    assert len(parsed.symbols) <= MAX_KEYS
    nested = b"".join(b" " * n + b"a:\n" for n in range(700))
    assert len(parse(nested, "yaml", deadline_ms=600_000).symbols) == 3
