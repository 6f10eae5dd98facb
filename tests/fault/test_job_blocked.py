"""A job waits while its embedding server is away, says why, loses nothing and goes on by itself."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.catalog import Catalog, project_id_of
from engine.errors import EmbedderUnavailableError
from engine.job_records import EventType, Job, JobState
from engine.records import Mode, SearchAnswer, SearchRequest
from tests.support.embedding_server import (
    Handler,
    Received,
    Stub,
    Trick,
    drip,
    embedding_server,
    half_json,
    hang,
    leave,
    rows,
    status,
)
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.oracle import check_embedded, check_sound, contents
from tests.support.trees import write_tree

FILES = 150
#: Requests until the vectors of a part of the chunks are stored: one asks what the server has, five
#: are for files (8, 16, 32, 64 and the rest), one for the first 64 chunks.
_REQUESTS = 7
#: What is promised.
BLOCKED_S = 15
PROBES_S = 10
RUNNING_S = 15

TROUBLES: dict[str, tuple[Trick, str]] = {
    "refuse": (leave, "cannot be asked"),
    "hang": (hang, "no answer within"),
    "slow drip": (drip, "no answer within"),
    "429": (status(429, "slow down", retry_after="3"), "429: slow down"),
    "503": (status(503, "loading"), "503: loading"),
    "500": (status(500, "oops"), "500: oops"),
    "413": (status(413, "too much for me"), "413: too much for me"),
    "half JSON": (half_json, "breaks off"),
    "ragged": (rows(lambda rows: [[*rows[0][:8]], *rows[1:], [1.0]]), "answers with"),
    "NaN": (rows(lambda rows: [[float("nan")] * 16 for _ in rows]), "not finite"),
    "fewer vectors": (rows(lambda rows: rows[:-1]), "vectors for"),
    "redirect": (status(307, location="http://127.0.0.1:1/v1"), "points elsewhere"),
}


def module(number: int) -> str:
    return f"def session_{number}(value):\n    return value + {number}\n"


def tree_in(folder: Path) -> Path:
    return write_tree(folder, {f"part_{n}.py": module(n) for n in range(FILES)})


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that behaves until it is told not to."""
    with embedding_server() as stub:
        yield stub


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What an index of the tree holds that never met any trouble."""
    folder = tmp_path_factory.mktemp("fresh")
    with embedding_server() as stub, hasty_catalog(folder / "home", stub) as catalog:
        catalog.create(str(tree_in(folder / "tree"))).index()
        return held_in(catalog, folder / "home", folder / "tree", stub)


def hasty_catalog(home: Path, stub: Stub, **settings: int):  # type: ignore[no-untyped-def]
    """Open a data directory whose settings give a server up soon."""
    hasty = {"embedding_timeout": 300, "query_timeout": 300, **settings}
    return catalog_in(home, model=f"openai:m@{stub.url}", **hasty)


def held_in(catalog: Catalog, home: Path, tree: Path, stub: Stub) -> dict[str, object]:
    """Give what an index holds, the server's address left out; it is sound and has all vectors."""
    file = home / f"{project_id_of(str(tree))}.db"
    catalog.open(str(tree)).status()
    check_sound(file)
    held = contents(file)
    check_embedded(file, str(held["model"]))
    return {**held, "model": str(held["model"]).replace(stub.url, "")}


def after(requests: int, trick: Trick) -> Trick:
    """Behave for some requests, then misbehave."""
    seen = 0

    def meet(handler: Handler, received: Received) -> None:
        nonlocal seen
        seen += 1
        if seen > requests:
            trick(handler, received)
        else:
            handler.answer(200, handler.vectors(received))

    return meet


def by_words(catalog: Catalog, tree: Path) -> SearchAnswer:
    return catalog.search([str(tree)], SearchRequest(query="session_77", mode=Mode.KEYWORD))


def kinds_of(catalog: Catalog, job_id: str) -> list[EventType]:
    return [event.type for event in catalog.jobs.events(job_id)]


def check_waits(catalog: Catalog, job_id: str, tree: Path, says: str) -> Job:
    """A job waits and says for what; words are searched, and the answer says what is lacking."""
    job = wait_for(catalog, job_id, JobState.BLOCKED, within_s=BLOCKED_S)
    assert job.waiting is not None
    assert job.waiting.startswith("embedding model away: the embedding server http://127.0.0.1:")
    assert says in job.waiting
    answer = by_words(catalog, tree)
    assert answer.hits[0].path == "part_77.py"
    assert answer.coverage.indexed == 1.0
    assert answer.coverage.embedded < 1.0
    return job


@pytest.mark.parametrize(("trick", "says"), TROUBLES.values(), ids=TROUBLES)
def test_a_server_in_trouble_holds_jobs_up_and_nothing_is_lost(
    trick: Trick, says: str, stub: Stub, wanted: dict[str, object], tmp_path: Path
) -> None:
    home, trees = tmp_path / "home", [tree_in(tmp_path / f"tree_{n}") for n in range(2)]
    with hasty_catalog(home, stub, jobs=1) as catalog:
        stub.always = after(_REQUESTS, trick)
        ids = [catalog.jobs.submit(str(trees[0])).job_id]
        catalog.jobs.run_here()
        in_the_middle = check_waits(catalog, ids[0], trees[0], says)
        assert in_the_middle.chunks_done == 64
        ids.append(catalog.jobs.submit(str(trees[1])).job_id)  # for which there is room now
        check_waits(catalog, ids[1], trees[1], "")
        stub.behave()
        for job_id, tree in zip(ids, trees, strict=True):
            wait_for(catalog, job_id, JobState.RUNNING, JobState.COMPLETED, within_s=RUNNING_S)
            job = wait_for(catalog, job_id, JobState.COMPLETED)
            assert job.chunks_done <= (job.chunks_total or 0)
            assert held_in(catalog, home, tree, stub) == wanted
            assert kinds_of(catalog, job_id).count(EventType.PAUSED) <= 6
            assert by_words(catalog, tree).coverage.embedded == 1.0
        check_never_together(catalog, ids)


def check_never_together(catalog: Catalog, ids: list[str]) -> None:
    """Fail if two jobs ran at the same time by what they tell."""
    begins = (EventType.STARTED, EventType.RESUMED)
    ends = (EventType.PAUSED, EventType.COMPLETED)
    moments = sorted(
        (event.timestamp, event.type in begins, job_id)
        for job_id in ids
        for event in catalog.jobs.events(job_id)
        if event.type in begins + ends
    )
    running = 0
    for _, is_begin, _ in moments:
        running += 1 if is_begin else -1
        assert 0 <= running <= 1
