"""Each branch of the error tree has one exit code and one HTTP status."""

import shlex

import pytest

from engine import errors
from web.errors import OUTCOMES, outcome_of, outcome_of_code
from web.mcp.failures import in_tools


@pytest.mark.parametrize(
    ("error", "code", "exit_code", "http_status"),
    [
        (errors.EngineError("x"), "internal_error", 1, 500),
        (errors.InvalidInputError("x"), "validation_error", 2, 400),
        (errors.InvalidQueryError("x", position=3), "validation_error", 2, 400),
        (errors.InvalidPathError("x"), "validation_error", 2, 400),
        (errors.InvalidConfigError("x"), "validation_error", 2, 400),
        (errors.ProjectNotFoundError("x"), "not_found", 3, 404),
        (errors.FileNotIndexedError("x"), "not_found", 3, 404),
        (errors.ProjectBusyError("x"), "conflict", 4, 409),
        (errors.IndexBusyError("x"), "unavailable", 5, 503),
        (errors.DiskFullError("x"), "unavailable", 5, 503),
        (errors.IndexCorruptError("x"), "damaged_index", 6, 500),
        (errors.IndexTooNewError("x"), "newer_index", 6, 500),
    ],
)
def test_outcome(error: errors.EngineError, code: str, exit_code: int, http_status: int) -> None:
    assert error.code == code
    assert outcome_of(error) == (exit_code, http_status)


def test_every_branch_is_in_the_table() -> None:
    branches: list[type[errors.EngineError]] = [
        errors.EngineError,
        *errors.EngineError.__subclasses__(),
    ]
    assert {branch.code for branch in branches} == set(OUTCOMES) - {"newer_index"}
    kinds = list(branches)
    for kind in kinds:  # grows while it is walked
        kinds.extend(kind.__subclasses__())
    assert {kind.code for kind in kinds} == set(OUTCOMES)


def test_a_stored_error_of_an_unknown_code_is_a_failure() -> None:
    assert outcome_of_code("unavailable") == (5, 503)
    assert outcome_of_code("permission_denied") == (1, 500)


@pytest.mark.parametrize("path", ["lib", "my dir"])
def test_hints_name_tools_with_the_whole_path(path: str) -> None:
    typed = shlex.quote(path)
    assert in_tools(f"cairn outline {typed} lists its files") == (
        f'outline with path "{path}" lists its files'
    )
    assert in_tools(f"cairn outline {typed} or cairn impact --path {typed}; {path}:LINE") == (
        f'outline or find_impact with path "{path}"; {path}:LINE'
    )
    assert in_tools("name one of its files; cairn outline FOLDER lists them") == (
        'name one of its files; outline with path "FOLDER" lists them'
    )


@pytest.mark.parametrize("typed", ["/src/app", "'/src/my app'", "-- -app", "-- '-my app'"])
def test_a_hint_for_an_agent_names_the_path_as_it_is(typed: str) -> None:
    [path] = [each for each in shlex.split(typed) if each != "--"]
    told = in_tools(f"index it: cairn index {typed}")
    assert told == f'call index_repository with path "{path}"'
