from pathlib import Path

import pytest

from engine.records import Skip, SkipReason
from engine.source.walker import WalkRules
from tests.support.git_trees import run_git
from tests.support.trees import write_tree
from tests.support.walks import files, skips

SEED_TREE = {"main.go": "", "main_test.go": "", "vendor/pkg.go": "", "README.md": ""}


def test_include_and_exclude_as_the_commands_show(tree: Path) -> None:
    write_tree(tree, SEED_TREE)
    rules = WalkRules(include=("*.go",), exclude=("*_test.go", "vendor/**"))
    assert files(tree, rules) == ["main.go"]
    found = skips(tree, rules)
    assert found["main_test.go"] == Skip(
        "main_test.go", SkipReason.EXCLUDED, "exclude pattern *_test.go"
    )
    assert found["vendor"] == Skip(
        "vendor", SkipReason.EXCLUDED, "exclude pattern vendor/**", is_folder=True
    )
    assert found["README.md"].reason is SkipReason.NOT_INCLUDED


def test_an_excluded_folder_is_one_row_wherever_it_is(tree: Path) -> None:
    write_tree(tree, {"gen/a": "", "gen/b/c": "", "x/gen/d": "", "x/e": ""})
    found = skips(tree, WalkRules(exclude=("gen/**",)))
    assert {path: skip.is_folder for path, skip in found.items()} == {"gen": True, "x/gen": True}


def test_a_folder_that_no_include_glob_reaches_is_not_walked(tree: Path) -> None:
    write_tree(tree, {"src/a.py": "", "docs/deep/b.py": "", "c.py": ""})
    rules = WalkRules(include=("/src/**",))
    assert files(tree, rules) == ["src/a.py"]
    assert skips(tree, rules)["docs"].is_folder


def test_our_own_rules_come_last(tree: Path, home: Path) -> None:
    write_tree(
        tree,
        {
            ".gitignore": "*.log\nbig/\n",
            ".cairnignore": "!a.log\n/tracked.py\n!big/\n!node_modules/\n!dist/keep/**\n",
            "a.log": "",
            "b.log": "",
            "tracked.py": "",
            "big/x": "",
            "node_modules/y": "",
            "dist/keep/z": "",
            "dist/w": "",
        },
    )
    run_git(tree, home, "init", "-q")
    run_git(tree, home, "add", "tracked.py")
    expected = ["a.log", "big/x", "dist/keep/z", "node_modules/y"]
    assert [path for path in files(tree) if not path.startswith(".")] == expected
    found = skips(tree)
    assert found["tracked.py"].detail == ".cairnignore:2: /tracked.py"
    assert found["dist/w"].reason is SkipReason.DEFAULT_EXCLUDED


def test_our_own_rules_can_open_a_part_of_what_they_close(tree: Path) -> None:
    names = ["gen/a", "gen/keep/b", "gen/keep/deep/c", "gen/other/d", "gen/other/keep/e"]
    write_tree(tree, {".cairnignore": "gen/\n!gen/keep/**\n", **dict.fromkeys(names, "")})
    assert files(tree)[1:] == ["gen/keep/b", "gen/keep/deep/c"]
    found = skips(tree)
    assert found["gen/other"] == Skip(
        "gen/other", SkipReason.IGNORED, ".cairnignore:1: gen/", is_folder=True
    )


def test_default_excludes_and_how_to_get_in(tree: Path) -> None:
    names = ["node_modules/a/x.js", "node_modules/b/y.js", "src/m.js", "src/__pycache__/m.pyc"]
    write_tree(tree, dict.fromkeys(names, ""))
    assert files(tree) == ["src/m.js"]
    assert skips(tree)["node_modules"] == Skip(
        "node_modules", SkipReason.DEFAULT_EXCLUDED, "node_modules: dependencies", is_folder=True
    )
    inside = WalkRules(include=("*.js", "node_modules/a/**"))
    assert files(tree, inside) == ["node_modules/a/x.js", "src/m.js"]
    assert files(tree, WalkRules(include=("node_modules/",))) == [
        "node_modules/a/x.js",
        "node_modules/b/y.js",
    ]
    assert files(tree, WalkRules(include=("src/**", "**/*.pyc"))) == ["src/m.js"]


def test_output_folders_are_out_unless_tracked(tree: Path, home: Path) -> None:
    names = ["build/a.py", "pkg/build/b.py", "pkg/target/c.rs", "pkg/dist/d.js"]
    write_tree(tree, dict.fromkeys(names, ""))
    assert files(tree) == ["pkg/build/b.py", "pkg/dist/d.js", "pkg/target/c.rs"]
    write_tree(tree, {"pkg/Cargo.toml": "", "pkg/package.json": ""})
    assert files(tree) == ["pkg/Cargo.toml", "pkg/package.json"]
    run_git(tree, home, "init", "-q")
    run_git(tree, home, "add", "build", "pkg/build")
    write_tree(tree, {"build/untracked.py": ""})
    assert files(tree) == [
        "build/a.py",
        "build/untracked.py",
        "pkg/Cargo.toml",
        "pkg/package.json",
        "pkg/build/b.py",
    ]


@pytest.mark.parametrize(
    ("marker", "content"),
    [
        ("pyvenv.cfg", ""),
        ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# a cache"),
    ],
)
def test_a_folder_that_says_a_tool_made_it_is_out(tree: Path, marker: str, content: str) -> None:
    write_tree(tree, {f"env/{marker}": content, "env/lib/a.py": "", "b.py": ""})
    assert files(tree) == ["b.py"]
    assert skips(tree)["env"].detail.startswith(marker)
    assert f"env/{marker}" in files(tree, WalkRules(include=("env/**",)))
    assert marker in files(tree / "env")


def test_a_tag_without_its_signature_says_nothing(tree: Path) -> None:
    write_tree(tree, {"env/CACHEDIR.TAG": "no signature", "env/a.py": ""})
    assert files(tree) == ["env/CACHEDIR.TAG", "env/a.py"]
