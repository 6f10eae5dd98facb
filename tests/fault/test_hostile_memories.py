"""No question, tag or text breaks memories: there is an answer, or a refusal with its field."""

from collections.abc import Iterator

import pytest

from engine.config import load_config
from engine.errors import InvalidInputError
from engine.memory_records import NewMemory
from engine.project import Project
from tests.support.catalogs import open_catalog
from tests.support.hostile import QUERY_CASES, QueryCase
from tests.support.trees import SAMPLE, write_tree

_TEXTS = (
    "100 % (a+)+$ <img src=x> '; DROP TABLE memories; --",
    '"session" AND NOT NEAR(a b) summary: tags: * ^',
    "\u202eright to left\u200b and \ufeffnothing \U000e0041",
    "\x1b]0;title\x07 \x01\x02\x7f",
    "e\u0301 \u00e9 \ufb01 \u0130 \u1e9e",
    "会议记录 关于会话",
    "👩‍👩‍👧‍👦 🚀",
    "\r\n\t\v\f\x85\u2028\u2029 x",
    "%s %(a)s {0} ${a} `id` $(id)",
    "../../../etc/passwd",
    "a" * 500,
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Give a small project with odd memories; asking changes nothing in it."""
    folder = tmp_path_factory.mktemp("memories")
    write_tree(folder / "tree", SAMPLE)
    with open_catalog(load_config(folder / "home", workers=1)) as catalog:
        index = catalog.create(str(folder / "tree"))
        index.index()
        for text in _TEXTS:
            index.checkpoints.save(
                NewMemory(summary=text, description=text * 20, context={text: [text]})
            )
        yield index


def test_every_text_comes_back_as_it_was(index: Project) -> None:
    listed = index.checkpoints.list(tags=("!indexed",), limit=100).checkpoints
    assert {each.summary for each in listed} == set(_TEXTS)
    for each in listed:
        assert each.description == each.summary * 20
        assert each.context == {each.summary: [each.summary]}


@pytest.mark.parametrize("text", _TEXTS)
def test_every_text_can_be_asked_for(index: Project, text: str) -> None:
    assert len(index.checkpoints.search(text)) <= 10


@pytest.mark.parametrize("case", QUERY_CASES, ids=lambda case: case.name)
def test_a_question_has_an_answer_or_a_reason(index: Project, case: QueryCase) -> None:
    is_refused = not case.query.strip() or len(case.query) > 4096
    if is_refused:
        with pytest.raises(InvalidInputError) as refusal:
            index.checkpoints.search(case.query)
        assert refusal.value.details["field"] == "query"
        assert len(refusal.value.message) < 500
        return
    for tags in ((), ("indexed",), ("!indexed",)):
        assert len(index.checkpoints.search(case.query, tags=tags)) <= 10


@pytest.mark.parametrize("case", QUERY_CASES, ids=lambda case: case.name)
def test_a_tag_chooses_nothing_or_is_refused(index: Project, case: QueryCase) -> None:
    for tags in ([case.query], [f"!{case.query}"]):
        try:
            page = index.checkpoints.list(tags=tags)
        except InvalidInputError as error:
            refusal = error
        else:
            assert page.total in (0, len(SAMPLE) + len(_TEXTS))
            continue
        assert refusal.details["field"] == "tags"
        assert len(refusal.message) < 500


def test_what_looks_like_an_operator_is_a_word(index: Project) -> None:
    saved = index.checkpoints.save(
        NewMemory(summary='error: "connection refused" -x nosuch:value lang:cobol')
    )
    try:
        for query in ('error: "connection refused', "-connection nosuch:value", "lang:cobol"):
            assert saved.id in {each.id for each in index.checkpoints.search(query)}
    finally:
        index.checkpoints.delete(saved.id)
