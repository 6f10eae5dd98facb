"""Every resource of the JSON API, asked of a real server; its keys are those of the commands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.command import Command
from tests.support.pages import index_folder
from tests.support.server import ask_until, serving
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="module")
def tree(folder: Path) -> Path:
    extra: dict[str, str | bytes] = {
        "node_modules/left/pad.js": "x",
        b"odd/na\xffme.py".decode("utf-8", "surrogateescape"): "def odd_name():\n    return 1\n",
    }
    return write_tree(folder / "tree", {**SAMPLE, **extra})


@pytest.fixture(scope="module")
def command(folder: Path) -> Command:
    return Command(home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})


@pytest.fixture(scope="module")
def client(command: Command, tree: Path) -> Iterator[httpx.Client]:
    with serving(command, "--no-watch") as server, server.client() as client:
        index_folder(client, tree)
        yield client


@pytest.fixture(scope="module")
def project(client: httpx.Client) -> str:
    [project] = client.get("/api/v1/projects").json()["projects"]
    return f"/api/v1/projects/{project['project_id']}"


def _keys(value: dict[str, Any]) -> set[str]:
    return set(value)


def test_a_short_run_is_waited_for(client: httpx.Client, tree: Path) -> None:
    answer = client.post(
        "/api/v1/projects", json={"path": str(tree), "force": True, "timeout_s": 300}
    )
    assert answer.status_code == 200
    told = answer.json()
    assert told["status"] == "completed"
    assert told["result"]["files_indexed"] == 6
    assert told["path"] == str(tree)
    assert client.get(f"/api/v1/jobs/{told['job_id']}").json()["status"] == "completed"


def test_nobody_has_to_wait(client: httpx.Client, tree: Path) -> None:
    answer = client.post("/api/v1/projects", json={"path": str(tree), "wait": False, "force": True})
    told = answer.json()
    assert (answer.status_code, told["result"]) in ((202, None), (200, told["result"]))
    ask_until(client, f"/api/v1/jobs/{told['job_id']}", status="completed")


def test_the_answers_of_a_search_are_those_of_the_command(
    client: httpx.Client, command: Command, tree: Path
) -> None:
    printed = command("search", "open a session", "--json", "--project", str(tree)).json()
    for told in (
        client.get("/api/v1/search", params={"query": "open a session"}).json(),
        client.post("/api/v1/search", json={"query": "open a session"}).json(),
    ):
        assert _keys(told) == _keys(printed) | {"next_cursor"}
        assert [_keys(hit) for hit in told["hits"]] == [_keys(hit) for hit in printed["hits"]]
        assert [hit["path"] for hit in told["hits"]] == [hit["path"] for hit in printed["hits"]]


def test_filters_and_shares_of_a_search(client: httpx.Client) -> None:
    asked = {"query": "session", "language": "python", "path": "app/", "explain": True}
    told = client.post("/api/v1/search", json=asked).json()
    assert {hit["language"] for hit in told["hits"]} == {"python"}
    assert all(hit["path"].startswith("app/") for hit in told["hits"])
    assert all(hit["explain"]["shares"] for hit in told["hits"])
    places = client.get("/api/v1/search", params={"query": "session", "context": "false"}).json()
    assert {hit["snippet"] for hit in places["hits"]} == {""}
    found = client.get("/api/v1/search", params={"query": "/SessionStore/", "mode": "keyword"})
    assert all(hit["matches"] for hit in found.json()["hits"])


def test_pages_of_a_search_fit_together(client: httpx.Client) -> None:
    whole = client.get("/api/v1/search", params={"query": "session", "limit": 6}).json()["hits"]
    pages: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"query": "session", "limit": 2}
    while not pages or asked["cursor"]:
        answer = client.post("/api/v1/search", json=asked).json()
        pages += answer["hits"]
        asked["cursor"] = answer["next_cursor"]
    assert len(pages) >= 4
    assert [(hit["path"], hit["line_start"]) for hit in pages] == [
        (hit["path"], hit["line_start"]) for hit in whole
    ]
    first = client.post("/api/v1/search", json={"query": "session", "limit": 2}).json()
    other = client.post("/api/v1/search", json={"query": "router", "cursor": first["next_cursor"]})
    assert other.status_code == 400
    assert other.json()["details"]["field"] == "cursor"


def test_a_project_is_chosen_by_its_name(client: httpx.Client) -> None:
    place: dict[str, str | int] = {"project": "tree", "path": "app/session.py", "line": 9}
    for asked in (
        "/api/v1/search?query=session&project=tree",
        "/api/v1/search?query=session&project=tree&project=nosuch",
        "/api/v1/symbols?name=open_session&project=tree",
        "/api/v1/jobs?target=tree",
    ):
        answer = client.get(asked).json()
        assert answer.get("hits") or answer.get("symbols") or answer.get("jobs"), asked
    assert client.get("/api/v1/related", params=place).json()["hits"]
    found = client.post("/api/v1/search", json={"query": "session", "projects": ["tree"]}).json()
    assert found["hits"]
    asked_for = {"query": "session", "project": "tree"}
    assert client.post("/api/v1/search", json=asked_for).json()["hits"] == found["hits"]
    error = client.post("/api/v1/search", json={"query": "session", "project": "three"})
    assert error.status_code == 404
    error = client.get("/api/v1/search?query=session&project=three")
    assert error.status_code == 404
    assert "did you mean 'tree'" in error.json()["message"]
    [listed] = error.json()["details"]["projects"]
    assert listed.endswith("/tree")


def test_hints_name_requests_and_not_commands(client: httpx.Client, project: str) -> None:
    place = "path=app/nowhere.py&line=1"
    for asked, request in (
        ("/api/v1/jobs?target=/nowhere", 'POST /api/v1/projects with path "/nowhere"'),
        ("/api/v1/symbols?name=x&project=/nowhere", 'POST /api/v1/projects with path "/nowhere"'),
        (f"{project}/content?{place[:20]}", "GET /api/v1/projects/ID/why?path=PATH"),
        (f"{project}/outline?{place[:20]}", "GET /api/v1/projects/ID/why?path=PATH"),
        (f"/api/v1/related?{place}&project=tree", "GET /api/v1/projects/ID/why?path=PATH"),
        (f"/api/v1/jobs/{'0' * 8}-0000-4000-8000-{'0' * 12}", "GET /api/v1/jobs;"),
    ):
        answer = client.get(asked)
        assert answer.status_code == 404, asked
        hint = answer.json()["details"]["hint"]
        assert request in hint, asked
        assert "cairn" not in hint


def test_symbols_and_related_code(client: httpx.Client, command: Command, tree: Path) -> None:
    printed = command("symbols", "open_session", "--json", "--project", str(tree)).json()
    assert client.get("/api/v1/symbols", params={"name": "open_session"}).json() == printed
    assert (printed["total"], printed["truncated"]) == (1, False)
    several = client.get("/api/v1/symbols?name=s&match=prefix&limit=1").json()
    assert len(several["symbols"]) == 1
    assert several["truncated"]
    assert several["total"] > 1
    place: dict[str, str | int]
    place = {"project": str(tree), "path": "app/session.py", "line": 9, "limit": 3}
    told = client.get("/api/v1/related", params=place).json()
    printed = command("related", "app/session.py:9", "--json", "--project", str(tree)).json()
    assert _keys(told) - {"next_cursor"} == _keys(printed)
    assert len(told["hits"]) == 3


def test_all_symbols_by_page(client: httpx.Client, project: str) -> None:
    asked = {"name": "session", "path": "app/"}
    whole = client.get(f"{project}/symbols", params=asked).json()
    assert [each["name"] for each in whole["symbols"]] == [
        "SessionStore",
        "close_session",
        "MAX_SESSIONS",
        "open_session",
    ]
    assert whole["total"] == sum(whole["kinds"].values()) == 4
    assert whole["languages"] == {"python": 4}
    [opened] = client.get(f"{project}/symbols?name=open&kind=method").json()["symbols"]
    assert (opened["scope"], opened["line_start"]) == ("SessionStore", 9)
    first = client.get(f"{project}/symbols", params={**asked, "limit": "3"}).json()
    rest = {**asked, "cursor": first["next_cursor"]}
    last = client.get(f"{project}/symbols", params=rest).json()
    assert [*first["symbols"], *last["symbols"]] == whole["symbols"]
    assert last["next_cursor"] is None
    refused = client.get(f"{project}/symbols", params={"kind": "callables of it"})
    assert refused.json()["details"]["field"] == "kind"


def test_the_state_of_a_project(
    client: httpx.Client, command: Command, tree: Path, project: str
) -> None:
    printed = command("status", str(tree), "--json").json()
    assert client.get(project).json() == printed
    listed = client.get("/api/v1/projects").json()
    assert listed == command("projects", "--json").json()


def test_files_by_page(client: httpx.Client, project: str) -> None:
    paths = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get(f"{project}/files", params={"limit": 2, **cursor}).json()
        paths += [file["path"] for file in page["files"]]
        assert page["total"] == 6
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert paths == sorted(paths)
    assert len(paths) == 6
    inside = client.get(f"{project}/files", params={"folder": "app"}).json()
    assert [file["path"] for file in inside["files"]] == ["app/http/router.py", "app/session.py"]
    go = client.get(f"{project}/files", params={"language": "go"}).json()
    assert [file["path"] for file in go["files"]] == ["cmd/server/main.go"]


def test_a_file_as_it_was_indexed(client: httpx.Client, project: str) -> None:
    asked = {"path": "app/session.py"}
    answer = client.get(f"{project}/content", params=asked)
    assert answer.json()["text"] == SAMPLE["app/session.py"]
    tag = {"If-None-Match": answer.headers["ETag"]}
    again = client.get(f"{project}/content", params=asked, headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    raw = client.get(f"{project}/raw", params=asked)
    assert raw.text == SAMPLE["app/session.py"]
    assert raw.headers["content-type"] == "text/plain; charset=utf-8"
    outline = client.get(f"{project}/outline", params=asked).json()["symbols"]
    assert [symbol["name"] for symbol in outline][:2] == ["MAX_SESSIONS", "SessionStore"]


def test_a_name_that_is_not_utf8_is_read_as_it_is_shown(client: httpx.Client, project: str) -> None:
    answer = client.get(f"{project}/content", params={"path": "odd/na\ufffdme.py"})
    assert answer.status_code == 200
    assert "odd_name" in answer.json()["text"]


def test_what_is_not_indexed_and_why(
    client: httpx.Client, command: Command, tree: Path, project: str
) -> None:
    skips = client.get(f"{project}/skips").json()
    assert [(each["path"], each["reason"], each["folder"]) for each in skips["skips"]] == [
        ("node_modules", "default_excluded", True)
    ]
    assert client.get(f"{project}/skips", params={"reason": "binary"}).json()["total"] == 0
    path = "node_modules/left/pad.js"
    printed = command("why", path, "--project", str(tree), "--json").json()
    assert client.get(f"{project}/why", params={"path": path}).json() == printed


def test_jobs_by_filter_and_page(client: httpx.Client, project: str, tree: Path) -> None:
    whole = client.get("/api/v1/jobs").json()
    assert whole["total"] == len(whole["jobs"]) >= 1
    first = client.get("/api/v1/jobs", params={"limit": 1}).json()
    assert first["jobs"] == whole["jobs"][:1]
    assert client.get("/api/v1/jobs", params={"status": "failed"}).json()["total"] == 0
    assert client.get("/api/v1/jobs", params={"target": str(tree)}).json()["total"] >= 1
    assert client.get("/api/v1/jobs", params={"origin": "watch"}).json()["total"] == 0
    early = {"created_before": "2001-01-01T00:00:00Z"}
    assert client.get("/api/v1/jobs", params=early).json()["jobs"] == []
    job_id = whole["jobs"][-1]["job_id"]
    history = client.get(f"/api/v1/jobs/{job_id}/events").json()
    events = history["events"]
    assert not history["truncated"]
    assert [event["type"] for event in events][:2] == ["created", "started"]
    assert events[-1]["type"] == "completed"
    later = client.get(f"/api/v1/jobs/{job_id}/events", params={"after": 1, "limit": 1}).json()
    assert (later["events"], later["truncated"]) == (events[1:2], len(events) > 2)
    last = client.get(f"/api/v1/jobs/{job_id}/events", params={"limit": len(events)}).json()
    assert not last["truncated"]


def test_a_job_that_has_ended_is_not_stopped(client: httpx.Client) -> None:
    job = client.get("/api/v1/jobs").json()["jobs"][0]
    for act in ("cancel", "retry"):
        answer = client.post(f"/api/v1/jobs/{job['job_id']}/{act}")
        assert (answer.status_code, answer.json()["error"]) == (409, "conflict")


def test_the_state_of_the_server(client: httpx.Client) -> None:
    told = ask_until(client, "/health", active_jobs=0)
    assert told["status"] == "ok"
    assert told["oldest_running_age_seconds"] is None


def test_an_index_is_emptied_and_forgotten(client: httpx.Client, folder: Path) -> None:
    small = write_tree(folder / "small", {"a.py": "def only_here():\n    return 1\n"})
    project_id = index_folder(client, small)
    place = f"/api/v1/projects/{project_id}"
    cleared = client.post(f"{place}/clear")
    name = {"project_id": project_id, "path": str(small)}
    assert cleared.json() == {**name, "cleared": True}
    assert client.get(place).json()["files"] == 0
    assert client.delete(place).json() == {**name, "contexts": [], "forgotten": True}
    assert client.get(place).status_code == 404
    assert client.delete(place).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "path"),
        ({"path": ""}, "path"),
        ({"path": 5}, "path"),
        ({"path": "relative"}, "path"),
        ({"path": "/nowhere/at/all"}, "path"),
        ({"path": "/x\0y"}, "path"),
        ({"path": "/tmp", "nosuch": 1}, "nosuch"),
        ({"path": "/tmp", "max_file_size": 10 * 1024 * 1024 + 1}, "max_file_size"),
        ({"path": "/tmp", "max_file_size": -1}, "max_file_size"),
        ({"path": "/tmp", "max_file_size": "5"}, "max_file_size"),
        ({"path": "/tmp", "include_patterns": "*.py"}, "include_patterns"),
        ({"path": "/tmp", "include_patterns": ["[a"]}, "include_patterns"),
        ({"path": "/tmp", "exclude_patterns": [1]}, "exclude_patterns[0]"),
        ({"path": "/tmp", "force": "yes"}, "force"),
        ({"path": "/tmp", "timeout_s": 0}, "timeout_s"),
        ([], "body"),
        (None, "body"),
        ("text", "body"),
    ],
)
def test_a_bad_request_names_its_field(client: httpx.Client, body: object, field: str) -> None:
    answer = client.post("/api/v1/projects", json=body)
    told = answer.json()
    assert (answer.status_code, told["error"]) == (400, "validation_error")
    assert told["details"]["field"] == field, told


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nowhere", 404, "not_found"),
        ("/api/v1/nowhere", 404, "not_found"),
        ("/api/v1/projects/" + "0" * 64, 404, "not_found"),
        ("/api/v1/projects/nonsense", 404, "not_found"),
        ("/api/v1/jobs/nonsense", 404, "not_found"),
        ("/api/v1/search", 400, "validation_error"),
        ("/api/v1/search?query=", 400, "validation_error"),
        ("/api/v1/search?query=x&limit=0", 400, "validation_error"),
        ("/api/v1/search?query=x&limit=101", 400, "validation_error"),
        ("/api/v1/search?query=x&limit=ten", 400, "validation_error"),
        ("/api/v1/search?query=x&limit=1&limit=2", 400, "validation_error"),
        ("/api/v1/search?query=x&mode=psychic", 400, "validation_error"),
        ("/api/v1/search?query=x&cursor=%00", 400, "validation_error"),
        ("/api/v1/search?query=x&nosuch=1", 400, "validation_error"),
        ("/api/v1/search?query=case:x", 400, "validation_error"),
        ("/api/v1/search?query=x&project=/nowhere", 404, "not_found"),
        ("/api/v1/jobs?status=busy", 400, "validation_error"),
        ("/api/v1/jobs?created_after=tomorrow", 400, "validation_error"),
        ("/api/v1/jobs?cursor=nonsense", 400, "validation_error"),
        ("/api/v1/symbols?name=x&match=psychic", 400, "validation_error"),
    ],
)
def test_errors_have_one_shape(client: httpx.Client, path: str, status: int, code: str) -> None:
    answer = client.get(path)
    told = answer.json()
    assert (answer.status_code, told["error"]) == (status, code)
    assert set(told) == {"error", "message", "details"}
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("/api/v1/project", "/api/v1/projects"),
        ("/api/projects", "/api/v1/projects"),
        ("/api/v2/search", "/api/v1/search"),
        ("/api/v1/projects/abc/doctor/verfy", "/api/v1/projects/{project_id}/doctor/verify"),
        ("/api/v1/jobs/abc/event", "/api/v1/jobs/{job_id}/events"),
        ("/api/v1/outline", "/api/v1/projects/{project_id}/outline"),
    ],
)
def test_an_unknown_path_is_told_the_nearest(client: httpx.Client, path: str, nearest: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json() == {
        "error": "not_found",
        "message": "there is nothing here",
        "details": {
            "nearest": nearest,
            "hint": f"the nearest path is {nearest}; GET /openapi.json lists them all",
        },
    }


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v1/weather/berlin", "/api/" + "x" * 2000, "/api/v1/" + "search" * 300]
)
def test_a_path_that_resembles_none_is_told_where_they_are(client: httpx.Client, path: str) -> None:
    details = client.get(path).json()["details"]
    assert details == {"hint": "GET /openapi.json lists all paths"}


def test_a_method_that_does_not_work_is_refused(client: httpx.Client) -> None:
    for method in ("PUT", "PATCH", "DELETE", "TRACE"):
        answer = client.request(method, "/api/v1/search")
        assert (answer.status_code, answer.json()["error"]) == (405, "method_not_allowed")
        assert {"GET", "HEAD"} <= set(answer.headers["allow"].split(", "))


@pytest.mark.parametrize(
    "path", ["/", "/api/v1/projects", "/openapi.json", "/api/v1/search?query=session", "/nowhere"]
)
def test_head_has_the_headers_of_get_and_no_body(client: httpx.Client, path: str) -> None:
    got, told = client.get(path), client.head(path)
    assert (told.status_code, told.content) == (got.status_code, b"")
    assert int(told.headers["content-length"]) > 0
    for name in ("content-type", "content-security-policy", "cache-control"):
        assert told.headers[name] == got.headers[name]


def test_head_of_a_stream_ends_at_once(client: httpx.Client) -> None:
    for _ in range(40):  # more than may be open
        told = client.head("/api/v1/events")
        assert (told.status_code, told.content) == (200, b"")
        assert told.headers["content-type"].startswith("text/event-stream")


def test_head_is_allowed_where_get_is(client: httpx.Client) -> None:
    options = client.options("/api/v1/search").headers["allow"]
    assert {"GET", "HEAD"} <= set(options.split(", "))
    told = client.head("/api/v1/projects/x/clear")
    assert told.status_code == 405
    assert "HEAD" not in told.headers["allow"]


def test_the_api_describes_itself(client: httpx.Client) -> None:
    told = client.get("/openapi.json").json()
    operations = [each for path in told["paths"].values() for each in path.values()]
    assert len(operations) >= 20
    for operation in operations:
        assert operation["summary"]
        assert operation["description"]
        assert {"400", "401", "403", "404", "421", "429", "500", "503"} <= set(
            operation["responses"]
        )
    assert "504" in told["paths"]["/api/v1/projects"]["post"]["responses"]
    yaml = client.get("/openapi.yaml")
    assert yaml.status_code == 200
    assert "/api/v1/search:" in yaml.text
    assert "://cdn" not in client.get("/openapi").text
