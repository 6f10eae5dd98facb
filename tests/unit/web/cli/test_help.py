"""The help of every subcommand."""

import pytest
from click.testing import CliRunner

from web.cli.main import COMMANDS, cairn

_JOBS = ("list", "show", "cancel", "retry", "events", "run")


@pytest.mark.parametrize(
    "words", [*((name,) for name in COMMANDS), *(("jobs", name) for name in _JOBS)]
)
def test_each_has_help_with_an_example(words: tuple[str, ...]) -> None:
    pages = [CliRunner().invoke(cairn, [*words, option]) for option in ("--help", "-h")]
    assert [page.exit_code for page in pages] == [0, 0]
    assert pages[0].output == pages[1].output
    assert f"Usage: cairn {' '.join(words)}" in pages[0].output
    assert f"Examples:\n    cairn {words[0]}" in pages[0].output


def test_jobs_without_a_subcommand_is_its_list() -> None:
    refused = CliRunner().invoke(cairn, ["jobs", "--bogus"])
    assert refused.exit_code == 2
    assert "cairn jobs list" in refused.output
