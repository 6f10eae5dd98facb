"""The settings page and command: values, origins, changes, and what is refused."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from engine.config import SETTINGS
from tests.support.command import Command
from tests.support.pages import OWN_FORM, Page, site
from tests.support.server import Server


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Server]:
    """A server of its own, whose settings a test may change."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/config.toml").write_text("# mine\njobs = 2\n")
    with site(tmp_path, CAIRN_EMBEDDING_KEY="secret-key-of-this-test") as server:
        yield server


def _send(client: httpx.Client, **fields: str) -> httpx.Response:
    return client.post("/settings", data=fields, headers={**OWN_FORM, "Accept": "text/html"})


def _send_rule(client: httpx.Client, **fields: str) -> httpx.Response:
    return client.post("/settings/tags", data=fields, headers={**OWN_FORM, "Accept": "text/html"})


def test_each_setting_is_shown_with_its_origin(served: Server) -> None:
    with served.client() as client:
        answer = client.get("/settings")
        page = Page.of(answer)
    for setting in SETTINGS:
        assert page.all("div", id=f"setting-{setting.name}"), setting.name
        assert setting.help.replace("`", "") in page.text
    assert "2 jobs config.toml default 3 jobs" in page.text
    assert "1 process environment" in page.text or "1 processes environment" in page.text
    editable = {each["value"] for each in page.all("input", name="name")}
    assert editable == {setting.name for setting in SETTINGS} - {
        "model",
        "host",
        "port",
        "allow_secret_files",
    }
    assert "secret-key-of-this-test" not in answer.text
    assert "•••••••• set" in page.text


def test_a_change_is_stored_and_said(served: Server, tmp_path: Path) -> None:
    file = tmp_path / "data/config.toml"
    with served.client() as client:
        answer = _send(client, name="jobs", value="5")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/settings?changed=jobs#setting-jobs"
        assert file.read_text() == "# mine\njobs = 5\n"
        page = Page.of(client.get("/settings?changed=jobs"))
        assert "jobs is 5 jobs in config.toml. Restart the server to use it here." in page.text
        page = Page.of(client.get("/settings"))
        assert "After a restart: 5 jobs" in page.text
        assert "Waiting for a restart of the server: jobs" in page.text
        _send(client, name="workers", value="2")
        page = Page.of(client.get("/settings?changed=workers"))
        assert "On this server the environment takes precedence." in page.text
        _send(client, name="jobs", value="5", reset="yes")
        assert "jobs" not in tomllib.loads(file.read_text())


@pytest.mark.parametrize(
    ("name", "value", "status", "said"),
    [
        ("jobs", "1000", 400, "jobs is 1000, wanted a whole number"),
        ("jobs", "<b>", 400, "jobs is '<b>', wanted a whole number"),
        ("host", "0.0.0.0", 400, "host cannot be changed here"),
        ("port", "1", 400, "port cannot be changed here"),
        ("nothing", "1", 404, "There is no setting 'nothing'"),
    ],
)
def test_what_is_refused_is_explained(
    served: Server, tmp_path: Path, name: str, value: str, status: int, said: str
) -> None:
    with served.client() as client:
        answer = _send(client, name=name, value=value)
    assert answer.status_code == status
    assert said in Page.of(answer).text
    assert (tmp_path / "data/config.toml").read_text() == "# mine\njobs = 2\n"


def test_other_sites_and_programs_change_nothing(served: Server, tmp_path: Path) -> None:
    fields = {"name": "jobs", "value": "5"}
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    with served.client() as client:
        assert client.post("/settings", data=fields, headers=foreign).status_code == 403
        assert client.post("/settings", data=fields).status_code == 403
    assert (tmp_path / "data/config.toml").read_text() == "# mine\njobs = 2\n"


def test_programs_list_and_change_them_all_or_none(served: Server, tmp_path: Path) -> None:
    file = tmp_path / "data/config.toml"
    with served.client() as client:
        found = client.get("/api/v1/settings").json()
        assert found["file"] == str(file)
        assert found["secrets"]["CAIRN_EMBEDDING_KEY"] is True
        assert [each["name"] for each in found["settings"]].count("jobs") == 1
        assert len(found["settings"]) == len(SETTINGS)
        values: dict[str, object] = {"jobs": None, "search_timeout": 900, "editor": "zed"}
        answer = client.patch("/api/v1/settings", json={"values": values})
        changed = {each["name"]: each for each in answer.json()["settings"]}
        assert changed["jobs"]["stored"] is None
        assert changed["jobs"]["pending"]
        assert changed["search_timeout"]["stored"] == "900"
        stored = file.read_text()
        assert tomllib.loads(stored) == {"search_timeout": 900, "editor": "zed"}
        for refused, status in (({"port": 1}, 400), ({"jobs": 0}, 400), ({"jbos": 1}, 404)):
            answer = client.patch("/api/v1/settings", json={"values": {"editor": None, **refused}})
            assert answer.status_code == status, refused
            assert answer.json()["message"]
        assert client.patch("/api/v1/settings", json={"values": {"jobs": True}}).status_code == 400
        foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        change = {"values": {"jobs": 9}}
        assert client.patch("/api/v1/settings", json=change, headers=foreign).status_code == 403
    assert file.read_text() == stored


def test_a_damaged_file_is_said(served: Server, tmp_path: Path) -> None:
    (tmp_path / "data/config.toml").write_text("jobs = ")
    with served.client() as client:
        page = Page.of(client.get("/settings"))
        assert "Cannot read" in page.text
        answer = _send(client, name="jobs", value="5")
        assert answer.status_code == 400
        assert "Cannot read" in Page.of(answer).text
        assert client.get("/api/v1/settings").status_code == 400


def test_the_command_shows_the_same(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/config.toml").write_text("jobs = 2\n")
    command = Command(home=tmp_path / "data", folder=tmp_path, variables={})
    found = command("config", "--json").json()
    assert found["file"] == str(tmp_path / "data/config.toml")
    assert [each["name"] for each in found["settings"]].count("jobs") == 1
    assert len(found["settings"]) == len(SETTINGS)
    text = command("config", "jobs").out
    assert "jobs = 2 jobs (file, default 3)" in text
    assert "indexing jobs that run at the same time" in text
    assert command("config", "jbos").code == 3


_TAGS = [
    'tags = [{path = "src/api/**", tags = ["api"]}]  # mine\n',
    '[[tags]]\npath = "src/api/**"\ntags = ["api"]\n',
    "",
]


@pytest.mark.parametrize("stored", _TAGS)
def test_rules_of_tags_are_added_and_removed(served: Server, tmp_path: Path, stored: str) -> None:
    file = tmp_path / "data/config.toml"
    file.write_text(f"jobs = 2  # two\n{stored}")
    before = {"path": "src/api/**", "language": None, "tags": ["api"]}
    added = {"path": None, "language": "python", "tags": ["server", "fast"]}
    with served.client() as client:

        def rules() -> list[dict[str, object]]:
            found: list[dict[str, object]] = client.get("/api/v1/settings").json()["tags"]
            return found

        answer = _send_rule(client, language=" python ", tags="server, fast")
        assert (answer.status_code, answer.headers["location"]) == (303, "/settings#group-tags")
        assert rules() == [before, added] if stored else [added]
        assert file.read_text().startswith("jobs = 2  # two\n")
        assert "server, fast" in Page.of(client.get("/settings")).text
        if stored:
            assert _send_rule(client, path="src/api/**", tags="api", remove="yes").is_redirect
        assert rules() == [added]
        assert _send_rule(client, language="python", tags="server fast", remove="yes").is_redirect
        assert rules() == []
        assert tomllib.loads(file.read_text()) == {"jobs": 2}
        gone = _send_rule(client, path="src/api/**", tags="api", remove="yes")
        assert gone.status_code == 404
        assert "no such rule" in Page.of(gone).text


def test_a_rule_with_outer_blanks_is_removed(served: Server, tmp_path: Path) -> None:
    file = tmp_path / "data/config.toml"
    file.write_text('[[tags]]\npath = " src/ "\ntags = ["api"]\n')
    with served.client() as client:
        other = Page.of(_send_rule(client, path="src/", tags="api", remove="yes"))
        assert all(field.get("value") != "src/" for field in other.all("input", name="path"))
        assert _send_rule(client, path=" src/ ", tags="api", remove="yes").is_redirect
    assert tomllib.loads(file.read_text()) == {}


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"tags": "api"}, "has neither path nor language in rule 1"),
        ({"path": "src/", "tags": ""}, "has no list of 1 to 20 tags in rule 1"),
        ({"path": "src/", "tags": "!no"}, "has '!no' in rule 1, which is no tag"),
        ({"language": "klingon", "tags": "api"}, "klingon"),
    ],
)
def test_a_rule_of_tags_that_means_nothing_is_refused(
    served: Server, tmp_path: Path, form: dict[str, str], message: str
) -> None:
    file = tmp_path / "data/config.toml"
    with served.client() as client:
        answer = _send_rule(client, **form)
        page = Page.of(answer)
        assert answer.status_code == 400
        assert message in page.text
    assert file.read_text() == "# mine\njobs = 2\n"


def test_rules_of_tags_are_shown(served: Server, tmp_path: Path) -> None:
    rules = 'tags = [{path = "src/api/**", language = "python", tags = ["api", "server"]}]\n'
    (tmp_path / "data/config.toml").write_text("# mine\n" + rules)
    command = Command(home=tmp_path / "data", folder=tmp_path, variables={})
    assert "api, server: src/api/** in python" in command("config", "tags").out
    rule = {"path": "src/api/**", "language": "python", "tags": ["api", "server"]}
    assert command("config", "--json").json()["tags"] == [rule]
    with served.client() as client:
        assert "src/api/** in python" in Page.of(client.get("/settings")).text
        assert _send(client, name="jobs", value="5").status_code == 303
    assert rules in (tmp_path / "data/config.toml").read_text()
