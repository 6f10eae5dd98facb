"""Several places of one file that answer: their order, their names and what is shown of them."""

from pathlib import Path

import pytest

from engine.budget import with_further_hits, with_more_files
from engine.catalog import Catalog
from engine.project import Project
from engine.search_records import Hit, SearchRequest
from tests.support.trees import write_tree

_BODY = "".join(f"    total = jar.count({number})\n" for number in range(60))
_COOKIES = {
    "end_session": "Expire old cookies at the end of a session.",
    "sweep": "sweep\n\n    Expire old cookies before a request.",
    "load_jar": "Expire old cookies when they are read.",
    "replace_one": "Expire old cookies that are replaced.",
}
_LICENCE = "".join(f"# line {number} of the licence\n" for number in range(30))
_RECOVERY = f'''{_LICENCE}
UNKNOWN = "???"


def recover_from_panic(handler):
    """Call a handler and recover from its panic."""
    return handler()
'''


@pytest.fixture
def project(catalog: Catalog, tree: Path) -> Project:
    functions = [f'def {name}(jar):\n    """{doc}"""\n{_BODY}' for name, doc in _COOKIES.items()]
    others = {
        f"lib/other{number}.py": f"def refresh{number}(entry):\n    return entry.{word}\n"
        for number, word in enumerate(["expire", "cookies", "old"] * 5)
    }
    files = {"lib/cookies.py": "\n\n".join(functions), "lib/recovery.py": _RECOVERY, **others}
    project = catalog.create(str(write_tree(tree, files)))
    project.index()
    return project


def _hits(project: Project, query: str, limit: int = 10) -> tuple[Hit, ...]:
    request = SearchRequest(query=query, limit=limit)
    return with_more_files(project.search(with_further_hits(request)), limit).hits


def test_all_functions_that_answer_come_before_what_hardly_does(project: Project) -> None:
    found = [hit.symbol for hit in _hits(project, "expire old cookies")]
    assert set(_COOKIES) <= set(found), found


def test_a_comment_that_begins_with_the_name_is_told_from_its_next_line(project: Project) -> None:
    told = {hit.symbol: hit.summary for hit in _hits(project, "expire old cookies")}
    assert told["sweep"] == "Expire old cookies before a request."


def test_a_chunk_is_named_and_shown_from_the_definition_that_answers(project: Project) -> None:
    best = _hits(project, "recover from panic in handler")[0]
    assert (best.path, best.line_start) == ("lib/recovery.py", 1)
    assert best.symbol == "recover_from_panic"
    assert best.summary == "Call a handler and recover from its panic."
    assert best.snippet.startswith("def recover_from_panic")
    assert best.snippet_line == 1 + _RECOVERY[: _RECOVERY.index("def recover")].count("\n")


def test_the_first_hits_are_the_same_at_any_limit(project: Project) -> None:
    whole = _hits(project, "recover from panic in handler", 50)
    assert (whole[0].confidence or 0.0) >= 0.7
    for limit in range(1, 10):
        assert _hits(project, "recover from panic in handler", limit) == whole[:limit]
