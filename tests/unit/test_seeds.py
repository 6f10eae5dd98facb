"""The map from requirement to test is whole, and leads somewhere."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.mutations import Mutation

ROOT = Path(__file__).resolve().parents[2]
MAP: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "tests/seeds.toml").read_text("utf-8"))

#: How many requirements of each kind a source has; they are numbered from 1.
NUMBERED = {
    "000": {
        "solution-": 5, "use-": 5, "FR1.": 4, "FR2.": 5, "FR3.": 4, "FR4.": 4, "FR5.": 7,
        "FR6.": 5, "NFR1.": 4, "NFR2.": 3, "NFR3.": 4, "NFR4.": 4, "NFR5.": 4, "flow-": 5,
        "handler-": 5, "indexer-": 1, "embedding-": 2, "store-": 1, "error-": 3, "json-": 19,
        "cli-": 8, "checkpoint-": 1, "vector-": 4, "payload-": 7, "search-": 2, "tag-": 5,
        "pattern-": 6, "include-": 2, "exclude-": 3, "common-": 3, "size-": 7, "phase-": 4,
        "figure-": 4, "future-": 3, "recovery-": 3, "security-": 14, "unit-": 6,
        "end-to-end-": 3, "manual-": 14, "plan-1.": 7, "plan-2.": 4, "plan-3.": 4, "plan-4.": 5,
        "Q": 5,
    },
    "001": {
        "US1.": 4, "US2.": 4, "US3.": 4, "US4.": 4, "edge-": 9, "FR-001.": 1,
        "FR-004.move-": 9, "FR-006.": 1, "FR-007.": 1, "FR-010.": 2, "FR-013.": 5, "FR-014.": 5,
        "job-": 7, "job-rule-": 5, "checkpoint-": 4, "checkpoint-rule-": 4, "event-": 4,
        "event-rule-": 5, "nongoal-": 15, "clarification-": 3,
    },
    "002": {
        "start-": 3, "command-": 5, "option-": 4, "kind-": 4, "field-": 12, "extract-": 4,
        "example-": 1, "method-": 5, "embedding-": 5, "watch-": 4, "search-": 3, "markdown-": 1,
        "storage-": 1, "git-": 3, "recovery-": 2, "config-": 5, "agent-": 3, "dependency-": 1,
        "limit-": 4, "future-": 4,
    },
    "003": {
        "flow-": 5, "handler-": 5, "indexer-": 1, "embedding-": 2, "store-": 1, "checkpoint-": 1,
        "vector-": 4, "payload-": 7, "search-": 2, "tag-": 5, "figure-": 4, "future-": 3,
        "security-": 14, "json-": 3,
    },
    "004": {
        "problem-": 4, "param-": 8, "return-": 13, "log-": 10, "silent-": 3, "use-": 4,
        "resource-": 7, "incremental-": 3, "input-": 3, "force-": 2, "workers-": 3, "model-": 3,
        "describe-": 2, "error-": 3, "json-": 15, "test-": 7, "figure-": 3, "document-": 1,
        "acceptance-": 11, "future-": 2,
    },
}  # fmt: skip
#: The same, where numbers have three digits.
THREE_DIGITS = {"001": {"FR-": 15, "SC-": 8, "A-": 11}}
#: Those that have names instead of numbers.
NAMED = {
    "001": [
        *(f"US{story}.test" for story in range(1, 5)),
        *(f"FR-004.{state}" for state in "pending running completed failed cancelled".split()),
        "FR-004.blocked",
        "FR-004.terminal",
    ]
}
KEYS = {"says", "tests", "measured", "reason"}
REQUIREMENTS = {name: entry for name, entry in MAP.items() if name != "sources"}


def _expected(source: str) -> Iterator[str]:
    for prefix, count in NUMBERED[source].items():
        yield from (f"{source}/{prefix}{number}" for number in range(1, count + 1))
    for prefix, count in THREE_DIGITS.get(source, {}).items():
        yield from (f"{source}/{prefix}{number:03}" for number in range(1, count + 1))
    yield from (f"{source}/{name}" for name in NAMED.get(source, ()))


@cache
def _tests_in(file: str) -> frozenset[str]:
    """Give the names of a module's tests, those of classes with the class before them."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {node.name for node in tree.body if isinstance(node, functions)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}::{each.name}" for each in node.body if isinstance(each, functions)
            }
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


def test_every_requirement_is_there_and_no_other() -> None:
    assert sorted(MAP["sources"]) == sorted(NUMBERED)
    expected = list(chain.from_iterable(_expected(source) for source in NUMBERED))
    assert len(set(expected)) == len(expected) > 590
    assert set(REQUIREMENTS) ^ set(expected) == set()


@pytest.mark.parametrize("source", NUMBERED)
def test_every_requirement_has_a_test_or_a_reason(source: str) -> None:
    for name, entry in REQUIREMENTS.items():
        if name.startswith(f"{source}/"):
            assert entry.keys() <= KEYS, name
            assert 0 < len(entry["says"]) <= 100, name
            assert entry.get("tests") or entry.get("reason"), name
            assert all(isinstance(test, str) for test in entry.get("tests", [])), name
            assert entry.get("reason", "x"), name


def test_every_test_and_every_benchmark_exists() -> None:
    lost = []
    for name, entry in REQUIREMENTS.items():
        for test in entry.get("tests", []):
            file, _, function = test.partition("::")
            if not (ROOT / file).is_file() or function not in _tests_in(file):
                lost.append((name, test))
        if "measured" in entry and not (ROOT / entry["measured"]).is_file():
            lost.append((name, entry["measured"]))
    assert lost == []


def test_each_mutation_is_to_be_noticed_by_a_test_of_its_requirement() -> None:
    for mutation in Mutation.all():
        assert mutation.test in REQUIREMENTS[mutation.requirement]["tests"], mutation
        text = (ROOT / mutation.file).read_text("utf-8")
        assert text.count(mutation.old) == 1, mutation
        assert mutation.old != mutation.new, mutation


def test_a_test_of_a_class_is_found_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(
        "class TestX:\n    def test_a(self): ...\n\n\ndef test_b(): ...\ndef c(): ...\n"
    )
    assert _tests_in(str(file)) == {"TestX::test_a", "test_b"}
