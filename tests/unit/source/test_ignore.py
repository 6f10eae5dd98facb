import os

import pytest

from engine.source.ignore import IgnoreChain, IgnoreFile, IgnoreRules, match_key


def chain_of(data: bytes, *, fold_case: bool = False) -> IgnoreChain:
    return IgnoreChain().with_files(
        [IgnoreFile(IgnoreRules(data, fold_case=fold_case), ".gitignore")]
    )


def rule_for(chain: IgnoreChain, path: str) -> str | None:
    """Give the rule by which a walk leaves a path out; a slash at its end makes it a folder."""
    *folders, name = path.rstrip("/").split("/")
    for folder in folders:
        decision = chain.of_folder(match_key(folder))
        if decision is not None and not decision[0].is_negated(decision[1]):
            return decision[0].describe(decision[1])
        chain = chain.enter(match_key(folder))
    key = match_key(name)
    decision = chain.of_folder(key) if path.endswith("/") else chain.of_file(key)
    if decision is None or decision[0].is_negated(decision[1]):
        return None
    return decision[0].describe(decision[1])


def is_ignored(rules: str | bytes, path: str) -> bool:
    data = rules if isinstance(rules, bytes) else rules.encode()
    return rule_for(chain_of(data), path) is not None


IGNORED = [
    ("*.log", "a.log"),
    ("*.log", "x/y/a.log"),
    ("/a", "a"),
    ("a/b", "a/b"),
    ("build/", "build/"),
    ("build/", "x/build/a.o"),
    ("a/**/b", "a/b"),
    ("a/**/b", "a/x/y/b"),
    ("**/b", "b"),
    ("**/b", "x/y/b"),
    ("a/**", "a/x"),
    ("a/*", "a/x"),
    ("**", "x/y"),
    ("*", "x"),
    (r"\#x", "#x"),
    (r"\!x", "!x"),
    (r"x\ ", "x "),
    ("x  ", "x"),
    ("x \\ ", "x  "),
    ("x\t", "x\t"),
    ("x\r", "x"),
    (" x", " x"),
    ("\ufeffx", "x"),
    ("[[:digit:]]*", "7x"),
    ("[!a]x", "bx"),
    ("a/", "a/"),
    ("*/x", "y/x"),
    ("!x\nx", "x"),
    ("x\n!y", "x"),
    ("x/\n!x/keep", "x/keep"),  # what lies in an ignored folder stays ignored
    ("foo\0bar", "foo"),
    (r"**\/b", "x/b"),
    ("b[/]c\nx", "x"),
    ("??", "é"),  # two bytes
]
NOT_IGNORED = [
    ("*.log", "a.logs"),
    ("/a", "x/a"),
    ("a/b", "x/a/b"),
    ("build/", "build"),
    ("a/**", "a"),
    ("a/**", "a/"),
    ("a/*", "a/"),
    ("#x", "#x"),
    ("!x", "x"),
    ("x\n!x", "x"),
    ("*\n!/x", "x"),
    ("x ", "x "),
    ("*/x", "x"),
    ("?", "é"),
    (r"**\/b", "b"),
    ("a[/]b", "a/b"),
    ("a/*\n!a/keep", "a/keep"),
    ("A", "a"),
    ("", "x"),
    ("/", "x"),
    ("//a", "a"),
    ("a//b", "a/b"),
    ("foo**/bar", "foo/x/bar"),  # git up to 2.51 matches this, against its manual
]


@pytest.mark.parametrize(("rules", "path"), IGNORED)
def test_a_path_is_ignored(rules: str, path: str) -> None:
    assert is_ignored(rules, path)


@pytest.mark.parametrize(("rules", "path"), NOT_IGNORED)
def test_a_path_is_not_ignored(rules: str, path: str) -> None:
    assert not is_ignored(rules, path)


BAD_LINES = [
    b"\\",
    b"!",
    b"[",
    b"[a-\\]",
    b"[z-a]",
    b"[[:foo:]]",
    b"a\\",
    b"!!",
    b"\0",
    b"/",
    b"//",
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_line_is_passed_over(line: bytes) -> None:
    rules = b"*.a\n" + line + b"\n*.b\n"
    assert is_ignored(rules, "x.a")
    assert is_ignored(rules, "x.b")
    assert not is_ignored(rules, "other")


def test_a_class_up_to_an_escaped_bracket_works() -> None:
    assert is_ignored(rb"x[A-\]]", "xZ")
    assert not is_ignored(rb"x[A-\]]", "xa")


def test_bytes_that_are_not_utf_8_are_matched_as_bytes() -> None:
    assert is_ignored(b"\xff*", os.fsdecode(b"\xffname"))
    assert is_ignored(b"[\xf0-\xff]x", os.fsdecode(b"\xf5x"))
    assert not is_ignored(b"\xff*", "ÿname")


def test_case_counts_unless_it_is_folded() -> None:
    chain = chain_of(b"Build/\n*.PYC\n", fold_case=True)
    assert chain.of_folder(match_key("BUILD", fold_case=True)) is not None
    assert chain.of_file(match_key("a.pyC", fold_case=True)) is not None
    assert chain.of_file(match_key("É", fold_case=True)) is None


def test_a_rule_is_named_with_its_line() -> None:
    chain = chain_of("# logs\n\n*.log\nä*\n".encode())
    assert rule_for(chain, "x.log") == ".gitignore:3: *.log"
    assert rule_for(chain, "äx") == ".gitignore:4: ä*"


def test_of_equal_rules_the_last_is_named() -> None:
    assert rule_for(chain_of(b"*.log\n!a.log\n*.log\n"), "a.log") == ".gitignore:3: *.log"


def test_the_text_of_a_rule_that_may_not_be_shown_is_not() -> None:
    file = IgnoreFile(IgnoreRules(b"secret-*\n"), "core.excludesFile", shows_text=False)
    assert rule_for(IgnoreChain().with_files([file]), "secret-x") == "core.excludesFile:1"


def test_deeper_files_and_our_own_decide_first() -> None:
    def file(data: bytes, label: str, *, is_cairn: bool = False) -> IgnoreFile:
        return IgnoreFile(IgnoreRules(data), label, is_cairn)

    chain = IgnoreChain().with_files(
        [file(b"*.x\n*.y\n", "top"), file(b"*.z\n", "own", is_cairn=True)]
    )
    below = chain.enter(b"a").with_files([file(b"!*.x\n!*.z\n", "a")])
    assert rule_for(below, "f.x") is None
    assert rule_for(below, "f.y") == "top:2: *.y"
    assert rule_for(below, "f.z") == "own:1: *.z"


def test_fifty_nested_files_are_all_in_force() -> None:
    chain = IgnoreChain()
    for depth in range(50):
        rules = IgnoreRules(f"*.e{depth}\n!*.e{depth - 1}\n".encode())
        chain = chain.enter(b"d").with_files([IgnoreFile(rules, f"{depth}")])
    assert rule_for(chain, "x.e49") is not None
    assert rule_for(chain, "x.e48") is None


HOSTILE = {
    "chain of **": ("/".join(["a", "**"] * 11) + "/c").encode(),
    "chain of **/a*": b"**/a*/" * 11 + b"c",
    "stars": b"*a" * 120 + b"c",
    "ten thousand names": "\n".join(f"name{n}" for n in range(10_000)).encode(),
    "ten thousand globs": "\n".join(f"*foo{n}*\n!x{n}*\n*.e{n}" for n in range(3400)).encode(),
    "ten thousand paths": "\n".join(f"dir{n}/**/x{n}*" for n in range(10_000)).encode(),
    "one megabyte of short rules": b"\n".join(b"%x" % n for n in range(170_000)),
    "one line of a megabyte": b"*a" * 500_000,
    "a class of a megabyte": b"[" + b"a" * 1_000_000 + b"]",
    "negation chain": "\n".join(("!" * (n % 2)) + f"*.p{n % 9}y" for n in range(10_000)).encode(),
    "noise": bytes((n * n * 31 + n // 7) % 256 for n in range(300_000)),
}


@pytest.mark.parametrize("rules", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_read_and_quick(rules: bytes) -> None:
    chain = chain_of(rules)
    paths = ["a/" * (n % 20) + "a" * 60 + f"foo{n}.txt" for n in range(1000)]
    found = [rule_for(chain, path) for path in paths]  # all ways to match would take years
    other = chain_of(rules)
    assert found == [rule_for(other, path) for path in reversed(paths)][::-1]
