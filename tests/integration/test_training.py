"""From a repository to a model that finds a function by what it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.embedding.static_model import StaticModel
from engine.embedding.static_weights import Weights
from engine.source.content import Inspected, inspect
from engine.syntax.analysis import analyse
from tests.support.training import CODE, mirror_of

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
VERBS = {
    "open": "unlock start begin", "close": "shut finish end", "write": "store save keep",
    "read": "load fetch get",
}  # fmt: skip
THINGS = {
    "door": "gate entrance", "ledger": "book journal", "letter": "mail message",
    "garden": "yard lawn",
}  # fmt: skip


def _module(verb: str, words: str, thing: str, others: str) -> str:
    first, second = others.split()
    return "\n\n".join(
        f"def {verb}_{thing}_{word}(place):\n"
        f'    """Will {word} the {first} or {second}."""\n'
        f"    {thing}_handle = place.{verb}_{thing}\n"
        f"    return {thing}_handle.{verb}(place, {thing}_handle.size)\n"
        for word in words.split()
    )


def test_a_model_learns_what_words_go_together(tmp_path: Path) -> None:
    for number in range(2):  # words of one repository alone have no rows
        files = {
            f"{thing}/{verb}.py": _module(verb, words, thing, others)
            for thing, others in THINGS.items()
            for verb, words in VERBS.items()
        }
        mirror_of(tmp_path, f"ann/things{number}", files)
    mirror_of(tmp_path, "ann/shop", CODE)
    (tmp_path / "list").write_text("ann/things0\nann/things1\nann/shop\nann/missing\n")
    (tmp_path / "excluded").write_text("ann/shop\n")
    out = tmp_path / "out"
    done = subprocess.run(
        [
            sys.executable, "-m", "tools.training", str(tmp_path),
            str(tmp_path / "list"), str(out), "--exclude", str(tmp_path / "excluded"),
            "--seed", "7", "--epochs", "300", "--dimension", "64",
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no mirror of ann/missing" in done.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    assert [each["repository"] for each in manifest] == ["ann/things0", "ann/things1"]
    assert all(each["pairs"] > 20 and len(each["commit"]) == 40 for each in manifest)

    weights = Weights((out / "static.bin").read_bytes())
    text = b"".join(
        f"def {verb}_{thing}(place):\n    {thing}_handle = place.{verb}_{thing}\n"
        f"    return {thing}_handle.{verb}(place, {thing}_handle.size)\n\n\n".encode()
        + b"# " + b"x" * 300 + b"\n"
        for thing in THINGS
        for verb in VERBS
    )  # fmt: skip
    inspected = inspect("a.py", text, "python")
    assert isinstance(inspected, Inspected)
    chunks = analyse(inspected.text, "python", deadline_ms=600_000).chunks
    vectors = StaticModel(weights).embed_chunks([chunk[-3:] for chunk in chunks])
    for question, name in {
        "shut the gate": "close door",
        "save a message": "write letter",
        "fetch the journal": "read ledger",
    }.items():
        order = (-(vectors @ weights.embed_query(question))).argsort()
        nearest = [chunks[at].name_terms for at in order[:2].tolist()]
        assert any(name in terms for terms in nearest), (question, nearest)
