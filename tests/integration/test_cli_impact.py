"""What a change affects, on the command line."""

from pathlib import Path

import pytest

from engine.records import bytes_within
from tests.support.command import Command
from tests.support.git_trees import run_git
from tests.support.trees import SHOP, write_tree


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    folder = tmp_path_factory.mktemp("impact")
    tree = write_tree(folder / "shop", SHOP)
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        run_git(tree, folder, *arguments)
    command = Command(home=folder / "home", folder=tree, reads_here=True)
    assert command("index", "--quiet").code == 0
    return command


def test_dependents_stand_by_depth_and_tests_by_file(cairn: Command) -> None:
    ended = cairn("impact", "discounted")
    assert (ended.code, ended.err) == (0, "")
    definition, first, second, third, tests, totals = ended.out.split("\n\n")
    assert definition == "shop/cart.py:19  discounted"
    assert first.splitlines() == [
        "depth 1",
        "  shop/cart.py:10  Cart.total  exact  calls discounted on line 12",
        "  shop/report.py:5  Report.total  exact  calls discounted on line 6",
    ]
    assert second.startswith("depth 2\n  shop/cart.py:14  Cart.receipt  exact  calls Cart.total")
    assert third.startswith("depth 3\n  shop/report.py:9  checkout  likely  calls Cart.receipt")
    assert tests.splitlines() == [
        "tests",
        "  tests/test_cart.py  depth 1  exact  test_total:4",
    ]
    assert totals.startswith("5 dependents, 1 test among them, in 3 files: 4 exact, 1 likely, ")


def test_tests_are_followed_as_far_as_wanted(tmp_path: Path) -> None:
    tree = {
        "chain.py": "def one(): ...\n\n\ndef two():\n    one()\n",
        "test_chain.py": "from chain import two\n\n\ndef test_two():\n    two()\n",
    }
    cairn = Command(
        home=tmp_path / "home", folder=write_tree(tmp_path / "tree", tree), reads_here=True
    )
    assert cairn("index", "--quiet").code == 0
    direct = cairn("impact", "one", "--depth", "1", "--json").json()
    assert [(each["name"], each["depth"]) for each in direct["tests"]] == [("test_two", 2)]
    near = cairn("impact", "one", "--depth", "1", "--test-depth", "1", "--json").json()
    assert (near["tests"], near["test_files"], near["total"]) == ([], [], 1)


def test_an_answer_as_json_and_within_a_budget(cairn: Command) -> None:
    whole = cairn("impact", "discounted", "--json").json()
    assert list(whole) == [
        "name", "definitions", "dependents", "tests", "test_files", "total", "total_tests",
        "files", "depths", "certainties", "truncated", "coverage",
    ]  # fmt: skip
    assert whole["test_files"] == ["tests/test_cart.py"]
    assert whole["depths"] == {"1": 3, "2": 1, "3": 1}
    for max_tokens in (100, 200, 1000):
        budget = ("--max-tokens", str(max_tokens))
        text = cairn("impact", "discounted", *budget).out
        assert 0 < len(text.encode()) <= bytes_within(max_tokens)
        ended = cairn("impact", "discounted", *budget, "--json")
        assert len(ended.out.encode()) <= bytes_within(max_tokens)
        found = ended.json()
        assert found["dependents"]
        assert found["test_files"] == sorted({each["path"] for each in found["tests"]})
        assert found["truncated"] is (max_tokens == 100)
        if max_tokens == 1000:
            assert found["test_files"] == whole["test_files"]
            assert found["coverage"] == whole["coverage"]


def test_a_graph_leads_from_dependents_to_the_definition(cairn: Command) -> None:
    chart = cairn("impact", "discounted", "--depth", "1", "--format", "mermaid").out
    assert chart.startswith('flowchart LR\n  n0["discounted<br/>shop/cart.py:19"]\n')
    assert "\n  n1 --> n0\n" in chart
    assert " -> n0 [style=solid];" in cairn("impact", "discounted", "--format", "dot").out
    assert cairn("impact", "nowhere", "--format", "mermaid").out == (
        "flowchart LR\n  %% nothing is called 'nowhere'\n"
    )


def test_files_are_named_from_the_folder_that_one_is_in(cairn: Command) -> None:
    below = Command(home=cairn.home, folder=cairn.folder / "shop", reads_here=True)
    found = below("impact", "--path", "cart.py", "--json").json()
    assert found["path"] == "shop/cart.py"
    assert "checkout" in {each["name"] for each in found["dependents"]}
    assert below("impact", "--path", "nowhere.py").code == 3


def test_what_changed_and_what_did_not(cairn: Command, tmp_path: Path) -> None:
    assert cairn("impact", "--changed").out.startswith("nothing differs from the last commit\n")
    file = cairn.folder / "shop/cart.py"
    before = file.read_text()
    file.write_text(before.replace("return discounted(sum", "return 1 + discounted(sum"))
    try:
        text = cairn("impact", "--changed").out
        assert text.startswith("shop/cart.py:10  Cart.total  modified\n")
        assert "Cart.receipt" in text
        assert "note: the index has another text of 1 changed file" in text
        changed = cairn("impact", "--changed", "--json").json()
        assert [each["change"] for each in changed["definitions"]] == ["modified"]
    finally:
        file.write_text(before)
    plain = Command(
        home=tmp_path / "home", folder=write_tree(tmp_path / "plain", SHOP), reads_here=True
    )
    assert plain("index", "--quiet").code == 0
    refused = plain("impact", "--changed")
    assert refused.code == 2
    assert "is in no git repository" in refused.err


def test_changed_tests_are_to_be_run_within_a_budget_too(cairn: Command) -> None:
    file = cairn.folder / "tests/test_cart.py"
    before = file.read_text()
    more = "".join(f"\n\ndef test_more_{number}():\n    assert {number}\n" for number in range(30))
    file.write_text(before + more)
    try:
        assert cairn("index", "--quiet").code == 0
        assert "\ntests\n  tests/test_cart.py  changed\n" in cairn("impact", "--changed").out
        for max_tokens in (200, 4000):
            found = cairn("impact", "--changed", "--json", "--max-tokens", str(max_tokens)).json()
            assert found["truncated"] is (max_tokens == 200)
            assert found["test_files"] == ["tests/test_cart.py"]
    finally:
        file.write_text(before)
        assert cairn("index", "--quiet").code == 0


def test_nothing_found_says_so(cairn: Command) -> None:
    assert cairn("impact", "dicsounted").out.startswith(
        "nothing is called 'dicsounted', did you mean 'discounted'\n"
    )
    assert "nothing was found that depends on it" in cairn("impact", "anything").out


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((), "name"),
        (("x", "--changed"), "changed"),
        (("x", "--path", "y"), "path"),
        (("x", "--depth", "6"), "depth"),
        (("x", "--format", "dot"), "format"),
        (("x", "--max-tokens", "9"), "max_tokens"),
    ],
)
def test_wrong_options_are_refused(cairn: Command, arguments: tuple[str, ...], field: str) -> None:
    ended = cairn("impact", *arguments, "--json")
    assert ended.code == 2
    assert ended.json()["details"]["field"] == field
