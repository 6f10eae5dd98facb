"""Pages as tests read them: their elements, their text, and whether anything in them is foreign."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx

from tests.support.command import Command
from tests.support.jobs import until
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: All elements that templates have; a browser makes no others of what a repository holds.
_ELEMENTS = frozenset(
    "html head meta title link script body a header span svg ellipse path circle rect form input"
    " kbd nav button p main footer dialog h1 h2 h3 div dl dt dd code section ul ol li label pre"
    " strong progress aside details summary article mark time fieldset legend select option g text"
    " table caption thead tbody tr th td textarea wbr figure figcaption desc"
    " template bdi img blockquote br dd del h4 h5 h6 hr em samp sub sup noscript".split()
)
#: The one place where an address leaves the server: an editor of this machine, an absolute path
#: without a byte that could mean anything else, and a line.
_PATH = r"/[A-Za-z0-9_.~-](?:[A-Za-z0-9_.~/-]|%[0-9A-F]{2})*"
_EDITOR = re.compile(
    rf"(?:vscode|vscodium|cursor|zed)://file{_PATH}:[1-9][0-9]*"
    rf"|idea://open\?file={_PATH}&line=[1-9][0-9]*"
    rf"|subl://open\?url=file://{_PATH}&line=[1-9][0-9]*"
)
_PLACES = frozenset(
    ("href", "src", "action", "formaction", "hx-get", "hx-post", "poster", "srcset")
)


class Page(HTMLParser):
    """A page, read.

    Args:
        text: Its HTML.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self._joins = False  # what comes next is of the same phrase
        self.feed(text)
        self.close()

    @classmethod
    def of(cls, answer: httpx.Response) -> "Page":
        """Read an answer, which must be a page in itself and in its headers."""
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        page = cls(answer.text)
        page.check()
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._joins = self._joins or tag in ("time", "wbr")

    def handle_endtag(self, tag: str) -> None:
        self._joins = self._joins or tag == "time"

    def handle_data(self, data: str) -> None:
        if self._joins and self.texts:
            self.texts[-1] += data
        else:
            self.texts.append(data)
        self._joins = False

    @property
    def text(self) -> str:
        """What a person reads."""
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        """Give the attributes of elements that have some; an underscore stands for a hyphen."""
        named = {name.rstrip("_").replace("_", "-"): value for name, value in wanted.items()}
        return [
            attributes
            for each, attributes in self.elements
            if each == tag and named.items() <= attributes.items()
        ]

    @property
    def links(self) -> list[str]:
        """Where its links lead."""
        return [each["href"] for each in self.all("a") if "href" in each]

    def check(self) -> None:
        """Make sure that it holds nothing but what templates write."""
        for tag, attributes in self.elements:
            assert tag in _ELEMENTS, tag
            if tag == "script":
                assert attributes["src"].startswith("/static/")
            for name, value in attributes.items():
                assert not name.startswith("on"), (tag, name)
                assert name not in ("style", "srcdoc", "hx-on", "hx-vals", "hx-headers")
                assert not name.startswith("hx-on"), (tag, name)
                if (tag, name) == ("a", "href") and "data-editor" in attributes:
                    assert _EDITOR.fullmatch(value), value
                elif (tag, name) == ("a", "href") and "nofollow" in attributes.get("rel", ""):
                    assert value.startswith(("/p/", "#", "http:", "https:", "mailto:")), value
                elif name in _PLACES:
                    assert value.startswith(("/", "#", "?")), (tag, name, value)
                    assert not value.startswith(("//", "/\\")), (tag, name, value)


#: A search by pattern comes to its end also where the machine stands still for a while.
UNHURRIED = {"CAIRN_SEARCH_TIMEOUT": "600000"}
#: A database is waited for also while a job that yields to all others writes it.
PATIENT = {"CAIRN_BUSY_TIMEOUT": "600000"}


@contextmanager
def site(folder: Path, *trees: Path, **variables: str) -> Iterator[Server]:
    """Serve folders that are indexed already; the home folder of the server is this one."""
    settings = {"CAIRN_WORKERS": "1", "HOME": str(folder), **UNHURRIED, **variables}
    command = Command(home=folder / "data", folder=folder, variables=settings)
    with serving(command, "--no-watch") as server:
        with server.client() as client:
            for tree in trees:
                index_folder(client, tree)
        yield server


def index_folder(client: httpx.Client, tree: Path) -> str:
    """Index a folder, however long it takes, and return the project's id."""
    return str(index_job(client, tree)["project_id"])


def await_log(client: httpx.Client, job_id: str) -> None:
    """Wait for the log of a job that has ended, the last that is written to the database."""
    until(lambda: client.get(f"/api/v1/jobs/{job_id}").json()["log"] is not None)


def index_job(
    client: httpx.Client, tree: Path, headers: dict[str, str] | None = None, **asked: object
) -> dict[str, Any]:
    """Index a folder, and return the answer as of the end of the job.

    On a busy machine the answer to the request comes before the job has ended, and the job ends
    before its log is written.
    """
    body = {"path": str(tree), **asked}
    answer = client.post("/api/v1/projects", json=body, headers=headers)
    told = answer.json()
    job = f"/api/v1/jobs/{told['job_id']}"
    until(
        lambda: client.get(job).json()["status"] not in ("pending", "running"),
        tells=lambda: [client.get(each).text for each in (job, f"{job}/events", "/health")],
    )
    ended = client.get(job).json()
    assert ended["status"] == "completed", answer.text
    await_log(client, told["job_id"])
    return {**told, "status": ended["status"], "result": ended["result"]}


@contextmanager
def indexed(client: httpx.Client, tree: Path) -> Iterator[str]:
    """Index a folder for a while, and give the project's id; other tests do not find it."""
    project_id = index_folder(client, tree)
    try:
        yield project_id
    finally:
        _forget(client, project_id)


@contextmanager
def removing_new_projects(client: httpx.Client) -> Iterator[None]:
    """Remove, in the end, the projects that a test made."""
    known = set(project_ids(client).values())
    try:
        yield
    finally:
        for project_id in project_ids(client).values():
            if project_id not in known:
                _forget(client, project_id)


def _forget(client: httpx.Client, project_id: str) -> None:
    """Remove a project; while it is busy or locked, nothing is removed, and it is tried again."""
    statuses: list[int] = []

    def is_answered() -> bool:
        statuses.append(client.delete(f"/api/v1/projects/{project_id}").status_code)
        return statuses[-1] not in (409, 503)

    until(is_answered)
    assert statuses[-1] == 200


def project_ids(client: httpx.Client) -> dict[str, str]:
    """Give the ids of projects by the names of their folders."""
    found = client.get("/api/v1/projects").json()["projects"]
    return {each["path"].rpartition("/")[2]: each["project_id"] for each in found}


@cache
def sample_files() -> dict[str, str | bytes]:
    """Give the files of the project that tests of pages look at."""
    body = "".join(f"    total = total + numbered[{line}] * {line}\n" for line in range(16))
    long = "".join(f"def numbered_{n}(total, numbered):\n{body}\n\n" for n in range(8))
    parts: dict[str, str | bytes] = {
        f"parts/part_{n}.py": f"def numbered_part_{n}():\n    return {n}\n" for n in range(24)
    }
    names = (
        b"na\xffme.py",
        b"a b?c#d&e;f+.py",
        b"%2e%2e%2fetc.py",
        b"line\nbreak.py",
        b"back\\.py",
    )
    odd: dict[str, str | bytes] = {
        f"odd/{os.fsdecode(name)}": f"def odd_name_{number}():\n    return 1\n"
        for number, name in enumerate(names)
    }
    ignored = {".gitignore": "build/\n", "build/out.py": "x = 1\n", "poetry.lock": "x\n"}
    return {**SAMPLE, **parts, **odd, **ignored, "app/long.py": long}


#: As a browser sends a form of a page of this server, whose policy hides where it comes from.
OWN_FORM = {"Origin": "null", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
