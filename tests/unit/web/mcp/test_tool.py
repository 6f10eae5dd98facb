"""Schemas of a tool's answer are read from the record that it answers with."""

from engine.search_records import Hit, SearchAnswer
from engine.state_records import Job, JobPage
from web.mcp.tool import fields_in


def test_fields_that_are_left_out_when_empty_are_not_promised() -> None:
    assert fields_in(SearchAnswer) == {
        "query": "text",
        "mode": "text",
        "took_ms": "number",
        "total": "integer",
        "truncated": "boolean",
        "coverage": "record",
        "hits": "records",
    }
    assert not {"matches", "snippet_line", "explain"} & fields_in(Hit).keys()


def test_fields_are_chosen_by_name_and_in_order() -> None:
    assert list(fields_in(Job, "result", "job_id")) == ["result", "job_id"]
    assert fields_in(Job, "phase", "result", "files_total") == {
        "phase": "text|null",
        "result": "record|null",
        "files_total": "integer|null",
    }
    assert fields_in(JobPage, "errors", "jobs") == {"errors": "texts", "jobs": "records"}
