"""The page of memories: written by a form, found by meaning and tags, deleted in two steps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx
import pytest

from tests.support.pages import OWN_FORM, Page, index_folder, project_ids
from tests.support.trees import write_tree

HTMX = {"HX-Request": "true"}
_TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z04"


@pytest.fixture
def here(pages_client: httpx.Client, pages_home: Path) -> Iterator[str]:
    """Give the page of a project without memories."""
    tree = write_tree(pages_home / "noted", {"a.py": "def first():\n    return 1\n"})
    index_folder(pages_client, tree)
    project_id = project_ids(pages_client)["noted"]
    yield f"/p/{project_id}/memories"
    assert pages_client.delete(f"/api/v1/projects/{project_id}").status_code == 200


def _save(client: httpx.Client, here: str, summary: str, **more: Any) -> str:
    body = {"summary": summary, "description": "", **more}
    answer = client.post(f"/api/v1/projects{here.removeprefix('/p')}", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def _summaries(page: Page) -> list[str]:
    """Give the ids of the memories that are shown, in their order."""
    return [each["id"].removeprefix("m-") for each in page.all("li", class_="memory")]


def test_without_any_it_says_what_memories_are(pages_client: httpx.Client, here: str) -> None:
    page = Page.of(pages_client.get(here))
    for wanted in ("No memories yet", "checkpoint_save", "checkpoint_search"):
        assert wanted in page.text
    assert page.all("form", action=here, method="post")
    assert not page.all("form", role="search", aria_label="Memories")


def test_one_is_written_shown_and_deleted(pages_client: httpx.Client, here: str) -> None:
    form = {
        "summary": "  Sessions expire after an hour ",
        "description": "Decided in review.\r\n\r\n  - see session.py\n",
        "tags": "decision, sessions,, decision",
    }
    saved = pages_client.post(here, data=form, headers=OWN_FORM)
    assert saved.status_code == 303
    place, _, anchor = saved.headers["location"].partition("#")
    answer = pages_client.get(place)
    page = Page.of(answer)
    [shown] = page.all("li", class_="memory")
    assert shown["id"] == anchor
    assert "The memory was saved." in page.text
    assert "Likely secrets, such as keys of known services, are redacted" in page.text
    assert "asterisks before it was stored" not in page.text
    assert "Sessions expire after an hour" in page.text
    assert "Decided in review.\n\n  - see session.py" in answer.text
    memory = anchor.removeprefix("m-")
    kept = pages_client.get(f"/api/v1/projects{here.removeprefix('/p')}/{memory}").json()
    assert kept["tags"] == ["decision", "sessions"]
    assert kept["description"] == "Decided in review.\n\n  - see session.py\n"

    delete = f"{here}/{memory}/delete"
    assert page.all("form", action=delete, method="post")
    assert pages_client.post(delete).status_code == 403  # not a form of a page of this server
    assert pages_client.get(delete, headers={"Accept": "text/html"}).status_code == 405
    gone = pages_client.post(delete, headers=OWN_FORM)
    assert gone.status_code == 303
    assert "The memory was deleted" in Page.of(pages_client.get(gone.headers["location"])).text
    again = pages_client.post(delete, headers={**OWN_FORM, "Accept": "text/html"})
    assert again.status_code == 404
    assert "Not Found" in Page.of(again).text


def test_a_secret_is_blanked_and_the_page_says_so(pages_client: httpx.Client, here: str) -> None:
    form = {"summary": "Token of the mirror", "description": f"token: {_TOKEN}\n", "tags": ""}
    saved = pages_client.post(here, data=form, headers=OWN_FORM)
    answer = pages_client.get(saved.headers["location"].partition("#")[0])
    assert "redacted before it was stored" in Page.of(answer).text
    assert _TOKEN not in answer.text
    assert "*" * len(_TOKEN) in answer.text


@pytest.mark.parametrize(
    ("field", "form"),
    [
        ("summary", {"summary": "   ", "description": "what was typed", "tags": "a"}),
        ("summary", {"summary": "s" * 501, "description": "what was typed", "tags": "a"}),
        ("summary", {"description": "what was typed"}),
        ("description", {"summary": "Long", "description": "what was typed" + "é" * 524_288}),
        ("tags", {"summary": "Tagged", "description": "what was typed", "tags": "a, !b"}),
        ("tags", {"summary": "Tagged", "description": "what was typed", "tags": "indexed"}),
        ("tags", {"summary": "Tagged", "description": "what was typed", "tags": "t" * 65}),
    ],
    ids=["blank", "long", "missing", "large", "bang", "reserved", "long tag"],
)
def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(
    pages_client: httpx.Client, here: str, field: str, form: dict[str, str]
) -> None:
    answer = pages_client.post(here, data=form, headers=OWN_FORM)
    assert answer.status_code == 400
    page = Page.of(answer)
    assert page.all("p", id=f"{field}-error", role="alert")
    [wrong] = [
        each
        for tag in ("input", "textarea")
        for each in page.all(tag, name=field)
        if each.get("type") != "hidden"
    ]
    assert wrong["aria-invalid"] == "true"
    assert f"{field}-error" in wrong["aria-describedby"].split()
    assert "what was typed" in answer.text
    assert page.all("input", id="summary-box")[0]["value"] == form.get("summary", "")
    assert page.all("input", id="tags-box")[0]["value"] == form.get("tags", "")
    assert "open" in page.all("details", class_="new-memory")[0]
    assert "No memories yet" in page.text  # nothing was saved


def test_tags_filter_and_say_how_many_there_are(pages_client: httpx.Client, here: str) -> None:
    first = _save(pages_client, here, "First", tags=["decision", "a b&c"])
    second = _save(pages_client, here, "Second", tags=["decision"])
    third = _save(pages_client, here, "Third", tags=["idea"])
    page = Page.of(pages_client.get(here))
    assert _summaries(page) == [third, second, first]  # the newest first
    assert "decision 2" in page.text
    assert "3 memories , newest first" in page.text
    narrowed = Page.of(pages_client.get(here, params={"tag": "decision"}))
    assert _summaries(narrowed) == [second, first]
    assert "idea" not in narrowed.text
    both = Page.of(pages_client.get(here, params={"tag": ["decision", "a b&c"]}))
    assert _summaries(both) == [first]
    ways = [parse_qs(urlsplit(link).query) for link in both.links]
    assert {"tag": ["decision"]} in ways  # the other one given up
    assert {"tag": ["a b&c"]} in ways
    without = Page.of(pages_client.get(here, params={"tag": "!decision"}))
    assert _summaries(without) == [third]


def test_they_are_found_by_meaning_and_words(pages_client: httpx.Client, here: str) -> None:
    wanted = _save(pages_client, here, "Sessions expire", description="after an hour of rest")
    _save(pages_client, here, "Paint the bicycle shed", description="green")
    answer = pages_client.get(here, params={"q": "when do sessions expire"}, headers=HTMX)
    part = Page.of(answer)
    assert _summaries(part)[0] == wanted
    assert not part.all("html")
    assert part.all("p", id="summary", hx_swap_oob="innerHTML", aria_live="polite")
    assert answer.headers["hx-replace-url"] == f"{here}?q=when+do+sessions+expire"
    nothing = Page.of(pages_client.get(here, params={"q": "sessions", "tag": "none"}))
    assert "No matching memories" in nothing.text
    assert here in nothing.links


def test_what_agents_say_besides_is_shown(pages_client: httpx.Client, here: str) -> None:
    long = "\n".join(f"line {number}" for number in range(40))
    context = {"agent": "reviewer", "session": 7, "files": ["a.py", "b.py"], "deep": {"x": None}}
    _save(pages_client, here, "With a context", description=long, context=context)
    answer = pages_client.get(here)
    page = Page.of(answer)
    for wanted in ("agent reviewer", "session 7", "files a.py b.py", 'deep {"x": null}'):
        assert wanted in page.text
    assert len(page.all("details", class_="rest")) == 1
    assert "line 39" in page.text


def test_a_text_of_a_mebibyte_is_cut_on_the_page(pages_client: httpx.Client, here: str) -> None:
    text = "word " * 209_000
    form = {"summary": "Large", "description": text, "tags": ""}
    assert pages_client.post(here, data=form, headers=OWN_FORM).status_code == 303
    answer = pages_client.get(here)
    assert len(answer.content) < 60_000
    assert "more characters" in Page.of(answer).text


def test_older_ones_are_on_the_next_page(pages_client: httpx.Client, here: str) -> None:
    saved = [_save(pages_client, here, f"Number {number}") for number in range(23)]
    page = Page.of(pages_client.get(here))
    [older] = [link for link in page.links if "cursor=" in link]
    part = Page.of(pages_client.get(older, headers=HTMX))
    assert not part.all("form", role="search")
    assert [*_summaries(page), *_summaries(part)] == saved[::-1]
    whole = Page.of(pages_client.get(older))
    assert here in whole.links  # to the newest


@pytest.mark.parametrize("asked", [{"tag": "!"}, {"tag": "t" * 65}, {"cursor": "!"}])
def test_a_question_that_cannot_be_asked_is_explained(
    pages_client: httpx.Client, here: str, asked: dict[str, str]
) -> None:
    answer = pages_client.get(here, params=asked)
    assert answer.status_code == 400
    assert Page.of(answer).all("div", id="problem", role="alert")
    part = pages_client.get(here, params=asked, headers=HTMX)
    assert part.headers["hx-retarget"] == "#problem"


def test_only_own_forms_are_taken(pages_client: httpx.Client, here: str) -> None:
    form = {"summary": "From elsewhere"}
    for headers in ({}, {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}):
        assert pages_client.post(here, data=form, headers=headers).status_code == 403
    foreign = f"{here}/{uuid4()}/delete"
    browser = {**OWN_FORM, "Accept": "text/html"}
    assert pages_client.post(foreign, headers=browser).status_code == 404
    assert pages_client.post(f"{here}/x/delete", headers=browser).status_code == 404
    assert "No memories yet" in Page.of(pages_client.get(here)).text


def test_more_than_a_search_shows_are_told(pages_client: httpx.Client, here: str) -> None:
    for number in range(50):
        _save(pages_client, here, f"Sessions expire {number}")
    all_of_them = Page.of(pages_client.get(f"{here}?q=sessions"))
    assert "50 memories , best first" in all_of_them.text
    _save(pages_client, here, "Sessions expire at last")
    page = Page.of(pages_client.get(f"{here}?q=sessions"))
    assert "The best 50 memories" in page.text
    assert len(_summaries(page)) == 50
