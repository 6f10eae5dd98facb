"""Who uses a name, who calls it and whom it calls, on the command line."""

from pathlib import Path

import pytest

from engine.records import bytes_within
from tests.support.command import Command
from tests.support.trees import SHOP, write_tree


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    folder = tmp_path_factory.mktemp("references")
    command = Command(
        home=folder / "home", folder=write_tree(folder / "shop", SHOP), reads_here=True
    )
    assert command("index", "--quiet").code == 0
    return command


def test_definitions_stand_before_the_uses_by_file(cairn: Command) -> None:
    ended = cairn("refs", "discounted")
    assert (ended.code, ended.err) == (0, "")
    definitions, cart, report, test, page, totals = ended.out.split("\n\n")
    assert definitions == "shop/cart.py:19  def discounted(price: int) -> int"
    [path, call] = cart.splitlines()
    assert (path, call.split("|")[0].split()) == (
        "shop/cart.py",
        ["12:16", "call", "exact", "Cart.total"],
    )
    assert call.endswith("| return discounted(sum(self.prices))")
    assert [line.split()[1:3] for line in report.splitlines()[1:]] == [
        ["import", "exact"],
        ["call", "exact"],
    ]
    assert test.startswith("tests/test_cart.py\n")
    assert page.splitlines()[1].split()[1:3] == ["call", "name"]
    assert totals.startswith("6 references and 1 definition: 4 call, 2 import; 6 exact, 1 ")


def test_uses_of_one_of_two_methods_are_told_apart(cairn: Command) -> None:
    both = cairn("refs", "total").out
    assert "Cart.receipt → Cart.total | return" in both
    uses = cairn("refs", "Cart.total", "--json").json()
    assert list(uses) == [
        "name", "definitions", "references", "total", "uses", "certainties", "truncated",
        "coverage",
    ]  # fmt: skip
    found = {(each["symbol"], each["certainty"]) for each in uses["references"]}
    assert ("Cart.receipt", "exact") in found
    assert ("anything", "name") in found
    assert "Report.total" not in {each["symbol"] for each in uses["references"]}
    assert [each["qualified_name"] for each in uses["definitions"]] == ["Cart.total"]
    calls = cairn("refs", "discounted", "--use", "call", "--path", "tests/", "--json").json()
    assert [(each["path"], each["use"]) for each in calls["references"]] == [
        ("tests/test_cart.py", "call")
    ]


@pytest.mark.parametrize("max_tokens", [100, 300, 1000])
def test_a_budget_holds_for_text_and_json(cairn: Command, max_tokens: int) -> None:
    budget = ("--max-tokens", str(max_tokens))
    for name in ("total", "discounted"):
        text = cairn("refs", name, *budget).out
        assert f"{name} " in text or f"{name}(" in text
        assert 0 < len(text.encode()) <= bytes_within(max_tokens)
        ended = cairn("refs", name, *budget, "--json")
        assert len(ended.out.encode()) <= bytes_within(max_tokens)
        found = ended.json()
        assert found["references"]
        if max_tokens != 300:
            is_cut = "text" not in found["references"][0]
            assert is_cut is found["truncated"] is (max_tokens == 100)


def test_nothing_found_says_what_was_perhaps_meant(cairn: Command) -> None:
    ended = cairn("refs", "dicsounted")
    assert ended.code == 0
    assert ended.out.startswith("nothing is called 'dicsounted', did you mean 'discounted'\n")
    for qualified in ("Wrong.discounted", "shop.wrong::discounted"):
        hint = f"nothing is called '{qualified}', did you mean 'discounted'\n"
        assert cairn("callers", qualified).out.startswith(hint)
    unused = cairn("refs", "Report", "--use", "inherit").out
    assert "no uses of 'Report' (inherit) were found" in unused
    for follow in ("callers", "callees"):
        assert cairn(follow, "nowhere").out.startswith("nothing is called 'nowhere'\n")
    assert "no callers of 'anything' were found" in cairn("callers", "anything").out
    assert cairn("refs", "nowhere", "--json").json()["references"] == []


def test_a_place_is_named_from_the_folder_that_one_is_in(cairn: Command) -> None:
    inside = Command(home=cairn.home, folder=cairn.folder / "shop", reads_here=True)
    at_root = cairn("callers", "shop/cart.py:19").out
    assert at_root.startswith("shop/cart.py:19  discounted\n")
    for command in ("callers cart.py:19", "callers shop/cart.py:19"):
        assert inside(*command.split()).out == at_root
    assert inside("refs", "cart.py:12:16").out.startswith("shop/cart.py:19  def discounted(")
    assert inside("impact", "cart.py:19").out.startswith("shop/cart.py:19  discounted\n")
    assert cairn("refs", "shop/cart.py:9999").out.startswith(
        "no definition was found at 'shop/cart.py:9999'\n"
    )
    assert cairn("refs", "cart.py:1").out.startswith(
        "nothing is called 'cart.py:1', and 'cart.py' is not in the index\n"
    )


def test_files_and_folders_are_told_from_names(cairn: Command) -> None:
    inside = Command(home=cairn.home, folder=cairn.folder / "shop", reads_here=True)
    for command in ("refs", "callers", "impact"):
        for where, path in ((cairn, "shop/cart.py"), (inside, "cart.py")):
            ended = where(command, path)
            assert (ended.code, ended.out) == (2, "")
            assert f"{path!r} is a file, not the name of a definition" in ended.err
            assert f"cairn impact --path {path}" in ended.err
        assert "'tests' is a folder, not the name of a" in cairn(command, "tests").err
    for arguments in (("impact", "--path", "shop"), ("blame", "shop"), ("related", "shop:3")):
        ended = cairn(*arguments)
        assert ended.code == 3
        assert "shop is a folder of 2 indexed files, not a file\n" in ended.err
        assert "cairn outline FOLDER lists them" in ended.err
    told = cairn("refs", "shop:3").out
    assert told.startswith("nothing is called 'shop:3', and 'shop' is a folder of 2 indexed files")


def test_an_inherited_name_tells_where_it_is_defined(tmp_path: Path) -> None:
    text = "class Base:\n    def get(self):\n        pass\n\n\nclass Settings(Base):\n    pass\n"
    folder = write_tree(tmp_path / "tree", {"a.py": text, "b.py": "def get():\n    pass\n"})
    cairn = Command(home=tmp_path / "home", folder=folder, reads_here=True)
    assert cairn("index", "--quiet").code == 0
    for command in ("refs", "symbols"):
        assert "'Settings.get', did you mean 'Base.get'\n" in cairn(command, "Settings.get").out


def test_private_names_say_how_their_uses_are_found(tmp_path: Path) -> None:
    text = "class A {\n  #run() {}\n  go() { this.#run(); }\n}\n"
    cairn = Command(
        home=tmp_path / "home",
        folder=write_tree(tmp_path / "tree", {"a.js": text}),
        reads_here=True,
    )
    assert cairn("index", "--quiet").code == 0
    assert cairn("refs", "#run").out.startswith(
        "uses of '#run' are not known by this name, try 'run'\n"
    )


def test_calls_are_followed_as_a_tree(cairn: Command) -> None:
    lines = cairn("callers", "discounted", "--depth", "3").out.splitlines()
    assert lines[:4] == [
        "shop/cart.py:19  discounted",
        "  shop/cart.py:10  Cart.total  exact  calls it on line 12",
        "    shop/cart.py:14  Cart.receipt  exact  calls it on line 16",
        "      shop/report.py:9  checkout  likely  calls it on line 10",
    ]
    assert lines[-1].startswith("6 callers: ")
    direct = cairn("callers", "discounted", "--json").json()
    assert {edge["name"] for edge in direct["edges"]} == {
        "Cart.total", "Report.total", "test_total",
    }  # fmt: skip
    down = cairn("callees", "Cart.receipt", "--depth", "2").out.splitlines()
    assert [line.split()[1] for line in down[:3]] == ["Cart.receipt", "Cart.total", "discounted"]


def test_calls_are_drawn(cairn: Command) -> None:
    chart = cairn("callers", "discounted", "--depth", "2", "--format", "mermaid").out
    assert chart.startswith('flowchart LR\n  n0["discounted<br/>shop/cart.py:19"]\n')
    assert "\n  n1 --> n0\n" in chart
    for command, comment in (
        ("callers discounted", "1 of 3 callers"),
        ("impact discounted", "2 of 5 dependents"),
        ("imports --files", "1 of 2 edges"),
    ):
        cut = cairn(*command.split(), "--limit", "1", "--format", "mermaid").out
        assert f"\n  %% truncated: {comment}\n" in cut
    graph = cairn("callees", "Cart.receipt", "--format", "dot").out
    assert graph.startswith("digraph calls {\n")
    assert '\n  n1 [label="Cart.total\\nshop/cart.py:10"];\n  n0 -> n1 [style=solid];\n' in graph
    assert cairn("callers", "nowhere", "--format", "mermaid").out == (
        "flowchart LR\n  %% nothing is called 'nowhere'\n"
    )


def test_implementations_and_bases_are_told(tmp_path: Path) -> None:
    tree = {
        "base.py": "class Base:\n    def run(self): ...\n",
        "more.py": "from base import Base\n\n\nclass More(Base):\n    def run(self): ...\n",
    }
    cairn = Command(
        home=tmp_path / "home", folder=write_tree(tmp_path / "tree", tree), reads_here=True
    )
    assert cairn("index", "--quiet").code == 0
    down = cairn("implementations", "Base").out
    assert down.startswith(
        "base.py:1  Base\n  more.py:4  More  exact\n\n1 implementation: 1 exact,"
    )
    up = cairn("bases", "More").out
    assert up.startswith("more.py:4  More\n  base.py:1  Base  exact  by more.py:4\n\n1 base: 1 ")
    [edge] = cairn("implementations", "Base.run", "--json").json()["edges"]
    assert (edge["name"], edge["via"], edge["depth"]) == ("More.run", "Base.run", 1)
    chart = cairn("bases", "More", "--format", "mermaid").out
    assert "\n  n0 --> n1\n" in chart
    assert "no bases of 'Base' were found" in cairn("bases", "Base").out
    assert cairn("implementations", "nowhere").out.startswith("nothing is called 'nowhere'\n")


def test_unused_definitions_are_told_by_file(tmp_path: Path) -> None:
    tree = {
        "a.py": "def _gone(): ...\n\n\ndef _called(): ...\n\n\ndef open_it(): ...\n",
        "b.json": '{"call": "_called"}\n',
        "test_a.py": "def test_it(): ...\n",
    }
    cairn = Command(
        home=tmp_path / "home", folder=write_tree(tmp_path / "tree", tree), reads_here=True
    )
    assert cairn("index", "--quiet").code == 0
    lines = cairn("unused").out.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["a.py"],
        "1 likely function _gone | def _gone()".split(),
        "4 name function _called (may be named in b.json) | def _called()".split(),
    ]
    assert lines[4] == "left out: 1 test"
    assert lines[6].startswith("2 unused definitions, 1 more that are exported (--exported lists")
    found = cairn("unused", "--json", "--exported").json()
    assert [each["name"] for each in found["definitions"]] == ["_gone", "_called", "open_it"]
    assert cairn("unused", "--kind", "class").out.startswith("no unused definitions were found\n")


def test_imports_are_told_by_folder_and_by_file(cairn: Command) -> None:
    folders = cairn("imports").out
    assert folders.startswith("tests\n  1  shop\n\n2 imports, 0 of other projects, 0 cycles, ")
    files = cairn("imports", "shop/report.py", "--files").out
    assert files.startswith("shop/report.py\n  1  shop/cart.py\n\n1 import, ")
    [edge] = cairn("imports", "shop/report.py", "--files", "--json").json()["edges"]
    assert (edge["path"], edge["line"]) == ("shop/report.py", 1)
    assert cairn("imports", "nowhere/").out.startswith("no imports within the project were found\n")
    note = "note: no indexed file is below nowhere/\n"
    commands = (
        "imports",
        "unused --path",
        "refs total --path",
        "map --path",
        "search total --path",
    )
    for command in commands:
        assert note in cairn(*command.split(), "nowhere/").out
    assert note not in cairn("search", "no-such-word-anywhere", "--path", "shop/").out
    assert note not in cairn("unused", "--path", "shop/").out


def test_a_map_says_no_more_of_a_long_path_than_a_budget_has_room_for(cairn: Command) -> None:
    asked = ("map", "--path", "nowhere/" * 50, "--json")
    assert "nowhere/nowhere" in cairn(*asked).json()["notes"][0]
    assert len(cairn(*asked, "--max-tokens", "100").out.encode()) <= bytes_within(100)


def test_cycles_of_imports_are_told_and_drawn(tmp_path: Path) -> None:
    tree = {"A/x.js": "import y from '../b/y';\n", "b/y.js": "import x from '../A/x';\n"}
    cairn = Command(
        home=tmp_path / "home", folder=write_tree(tmp_path / "tree", tree), reads_here=True
    )
    assert cairn("index", "--quiet").code == 0
    assert (
        "cycle of 2: A, b\n  A → b  1, first A/x.js:1\n  b → A  1, first b/y.js:1\n"
        in cairn("imports").out
    )
    assert "### Cycle of 2: `A`, `b`\n" in cairn("imports", "--format", "markdown").out
    chart = cairn("imports", "--format", "mermaid").out
    assert chart == 'flowchart LR\n  n0["A"]\n  n1["b"]\n  n0 ==>|1| n1\n  n1 ==>|1| n0\n'
    graph = cairn("imports", "--format", "dot").out
    assert graph.startswith("digraph imports {\n")
    assert '\n  n0 -> n1 [label="1", style=bold];\n' in graph
    assert cairn("imports", "nowhere/", "--format", "dot").out.endswith("were found\n}\n")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("refs", "x", "--use", "eat"), "use"),
        (("refs", "x", "--max-tokens", "99"), "max_tokens"),
        (("refs", "x", "--limit", "0"), "limit"),
        (("callers", "x", "--depth", "6"), "depth"),
        (("callees", "x", "--format", "dot"), "format"),
        (("unused", "--format", "markdown"), "format"),
        (("bases", "x", "--max-tokens", "99"), "max_tokens"),
        (("bases", "x", "--depth", "0"), "depth"),
        (("imports", "--depth", "0"), "depth"),
        (("imports", "--format", "dot"), "format"),
    ],
)
def test_wrong_options_are_refused(cairn: Command, arguments: tuple[str, ...], field: str) -> None:
    ended = cairn(*arguments, "--json")
    assert ended.code == 2
    assert ended.json()["details"]["field"] == field


_COMMANDS = (
    "refs total",
    "callers discounted --depth 3",
    "callees checkout",
    "implementations Cart",
    "bases Cart",
    "impact discounted",
    "map",
    "unused --exported",
    "imports --files",
)


@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize("max_tokens", [100, 1000])
def test_a_budget_holds_for_every_form(cairn: Command, command: str, max_tokens: int) -> None:
    budget = ("--max-tokens", str(max_tokens))
    whole = cairn(*command.split(), "--json").json()
    for form in ((), ("--format", "markdown"), ("--json",)):
        ended = cairn(*command.split(), *budget, *form)
        assert (ended.code, ended.err) == (0, "")
        assert 0 < len(ended.out.encode()) <= bytes_within(max_tokens)
        if form == ("--json",):
            found = ended.json()
            assert found["total"] == whole["total"]
            if max_tokens == 1000:
                assert found["truncated"] is False
                assert found["coverage"] == whole["coverage"]
                assert found.get("notes") == whole.get("notes")
            if "edges" in whole:
                assert list(found) == [key for key in whole if key in found]
                lists = [key for key in found if isinstance(found[key], list)]
                is_cut = any(len(found[key]) < len(whole[key]) for key in lists)
                assert found["truncated"] is is_cut
        elif "truncated" in ended.out:
            assert "more: raise --max-tokens" in ended.out


def test_a_cut_says_how_many_are_left_out(cairn: Command) -> None:
    assert cairn("callers", "discounted", "--depth", "3", "--limit", "2").out.endswith(
        ", truncated, 4 more: raise --limit\n"
    )
    assert "3 callers: " in cairn("callers", "discounted", "--limit", "1").out
    cut = cairn("refs", "discounted", "--limit", "3", "--format", "markdown").out
    assert ", truncated, 4 more: raise --limit_\n" in cut


def test_calls_as_markdown_are_a_nested_list(cairn: Command) -> None:
    lines = cairn("callers", "discounted", "--depth", "3", "--format", "markdown").out.splitlines()
    assert lines[:6] == [
        "## Callers of `discounted`",
        "",
        "- `shop/cart.py:19` `discounted`",
        "  - `shop/cart.py:10` `Cart.total` exact, calls it on line 12",
        "    - `shop/cart.py:14` `Cart.receipt` exact, calls it on line 16",
        "      - `shop/report.py:9` `checkout` likely, calls it on line 10",
    ]
    assert lines[-1].startswith("_6 callers: ")
    nothing = cairn("callers", "nowhere", "--format", "markdown").out
    assert nothing.startswith("## Callers of `nowhere`\n\nnothing is called 'nowhere'\n")


def test_markdown_has_a_section_for_each_file(cairn: Command) -> None:
    uses = cairn("refs", "discounted", "--format", "markdown").out
    assert uses.startswith(
        "## Uses of `discounted`\n\n- `shop/cart.py:19` `def discounted(price: int) -> int`\n\n"
        "### `shop/cart.py`\n\n"
        "- 12:16 call, exact, in `Cart.total`: `return discounted(sum(self.prices))`\n"
    )
    impact = cairn("impact", "discounted", "--format", "markdown").out
    assert impact.startswith(
        "## What depends on `discounted`\n\n- `shop/cart.py:19` `discounted`\n\n### Depth 1\n\n"
        "- `shop/cart.py:10` `Cart.total` exact, calls `discounted` on line 12\n"
    )
    assert "\n### Tests\n\n- `tests/test_cart.py` depth 1, exact: `test_total` " in impact
    drawn = cairn("map", "--format", "markdown").out
    assert drawn.startswith("## Map of the code\n\n### `shop/cart.py`\n\n- `class Cart` ")
    assert "\n  - `def total(self) -> int` 10\n" in drawn
    unused = cairn("unused", "--exported", "--format", "markdown").out
    assert unused.startswith(
        "## Unused definitions\n\n### `page.js`\n\n- 1 function `show` likely: "
    )
    imports = cairn("imports", "--format", "markdown").out
    assert imports.startswith("## Imports\n\n### `tests`\n\n- `shop` 1\n\n_2 imports, ")


def test_a_project_that_is_not_indexed_is_not_found(cairn: Command, tmp_path: Path) -> None:
    assert cairn("refs", "x", "--project", str(tmp_path)).code == 3
