"""Tests in JavaScript and TypeScript are known by the titles of their blocks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.project import Project
from engine.reference_records import ImpactRequest
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_TREE = {
    "app.ts": "export function open(name: string) { return name; }\n",
    "app.test.ts": """import { open } from './app';

describe('open', () => {
  // it('is a comment', () => {
  it("takes a ')' in a name", () => {
    expect(open(')))')).toBe(`${open(')')} (`);
  });
  it.only('isn\\'t empty', async () => open('b'));
  context('of a module', () => {
    test(`has ${1} name`, () => open('c'));
    open('d');
  });
});

if (open('e')) other.it('is no test', () => open('f'));
""",
    "late.spec.js": "import { open } from './app';\nit('is not closed', () => { open('g');\n",
    "main.js": "import { open } from './app';\nit('is in no test', () => open('h'));\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("blocks")
    tree = write_tree(folder / "tree", _TREE)
    with catalog_in(folder / "home") as catalog:
        project = catalog.create(str(tree))
        project.index()
        yield project


def test_a_test_is_named_by_the_titles_around_it(project: Project) -> None:
    found = project.impact(ImpactRequest(name="open"))
    tests = {
        (each.name, each.line): (each.lines, each.is_titled)
        for each in found.tests
        if each.path == "app.test.ts"
    }
    assert tests == {
        ("open > takes a ')' in a name", 5): ((6,), True),
        ("open > isn't empty", 8): ((8,), True),
        ("open > of a module > has ${1} name", 10): ((10,), True),
        ("open > of a module", 9): ((11,), True),
        ("app.test.ts", 1): ((1, 15), False),
    }


def test_what_is_not_closed_or_in_no_test_is_told_by_its_file(project: Project) -> None:
    found = project.impact(ImpactRequest(name="open"))
    assert [each.name for each in found.tests if each.path == "late.spec.js"] == ["late.spec.js"]
    assert [(each.name, each.is_titled) for each in found.dependents] == [("main.js", False)]


def test_titles_of_nested_blocks_do_not_add_up(tmp_path: Path) -> None:
    depth = 40
    opened = "".join(f"it('{'x' * 200}{number}', () => {{\n" for number in range(depth))
    text = f"import {{ open }} from './app';\n{opened}open('a');\n{'});' * depth}\n"
    tree = write_tree(tmp_path / "tree", {"app.ts": _TREE["app.ts"], "deep.test.ts": text})
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(tree))
        project.index()
        [test] = [
            each for each in project.impact(ImpactRequest(name="open")).tests if each.is_titled
        ]
    assert len(test.name) <= 300
    assert test.name.endswith(f"x{depth - 1}")
