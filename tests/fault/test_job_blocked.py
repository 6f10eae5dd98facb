"""A job waits while its embedding server is away, says why, loses nothing and goes on by itself."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.embedding.load import open_embedder
from engine.errors import EmbedderUnavailableError
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from engine.search_records import Mode, SearchAnswer, SearchRequest
from engine.state_records import EventType, Job, JobOrigin, JobState, WaitMode
from tests.support.embedding_server import (
    Handler,
    Received,
    Stub,
    Trick,
    drip,
    embedding_server,
    half_json,
    hang,
    if_any_has,
    leave,
    rows,
    status,
)
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.killing import processes_of
from tests.support.oracle import check_embedded, check_sound, contents
from tests.support.patience import patience
from tests.support.trees import write_tree
from web.mcp.indexing import answer_of

FILES = 150
#: Requests until the vectors of a part of the chunks are stored: one asks what the server has, five
#: are for files (8, 16, 32, 64 and the rest), one for the first 64 chunks.
_REQUESTS = 7
#: What is promised.
BLOCKED_S = 15
PROBES_S = 10
RUNNING_S = 15

_SILENT = "no answer within"
#: How long a server that is to be silent is waited for; a good answer has to come within it, too.
_SILENCE_MS = 4_000 if os.environ.get("HOLD_PROMISES") else 8_000
TROUBLES: dict[str, tuple[Trick, str]] = {
    "refuse": (leave, "cannot be reached"),
    "hang": (hang, _SILENT),
    "slow drip": (drip, _SILENT),
    "429": (status(429, "slow down", retry_after="3"), "429: slow down"),
    "503": (status(503, "loading"), "503: loading"),
    "500": (status(500, "oops"), "500: oops"),
    "half a character": (status(401, "oops \ud83d"), "401: oops ?"),
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


def hasty_catalog(home: Path, stub: Stub, **settings: int | str) -> AbstractContextManager[Catalog]:
    """Open a data directory; questions give a server up soon, and jobs one that refuses."""
    hasty: dict[str, int | str] = {
        "embedding_timeout": int(patience(5_000)),
        "query_timeout": 300,
    }
    chosen = {"model": f"openai:m@{stub.url}", **hasty, **settings}
    return catalog_in(home, opens=open_embedder, **chosen)


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
    assert job.waiting.startswith(
        "embedding model unavailable: the embedding server http://127.0.0.1:"
    )
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
    silence = {"embedding_timeout": _SILENCE_MS} if says == _SILENT else {}
    with hasty_catalog(home, stub, jobs=1, **silence) as catalog:
        stub.always = after(_REQUESTS, trick)
        ids = [catalog.jobs.submit(str(trees[0])).job_id]
        catalog.jobs.run_here()
        in_the_middle = check_waits(catalog, ids[0], trees[0], says)
        # A good answer that comes too late is asked for again, and its turn goes to the trouble.
        assert in_the_middle.chunks_done in ((0, 64) if says == _SILENT else (64,))
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


def test_a_server_that_begins_to_run_another_model_gets_all_vectors_anew(
    stub: Stub, tmp_path: Path
) -> None:
    home, tree = tmp_path / "home", tree_in(tmp_path / "tree")
    with hasty_catalog(home, stub) as catalog:
        stub.always = after(_REQUESTS, with_dimension(24))
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        wait_for(catalog, job_id, JobState.COMPLETED)
        waits = [each for each in catalog.jobs.events(job_id) if each.type is EventType.PAUSED]
        assert ["24 numbers, wanted 16" in str(each.context["reason"]) for each in waits] == [True]
        held = held_in(catalog, home, tree, stub)
    stub.always = with_dimension(24)
    with hasty_catalog(tmp_path / "other", stub) as catalog:
        catalog.create(str(tree)).index()
        assert held == held_in(catalog, tmp_path / "other", tree, stub)


def test_a_server_that_is_started_again_with_another_model_gets_all_vectors_anew(
    tmp_path: Path,
) -> None:
    """One whose vectors are as long as those of the model before."""
    tree = tree_in(tmp_path / "tree")

    def other(handler: Handler, received: Received) -> None:
        if handler.stub.model == "org/one":
            handler.stub.model = "org/two"
            handler.close_connection = True
        else:
            handler.answer(200, handler.vectors(received, lambda rows: [row[::-1] for row in rows]))

    with embedding_server(model="org/one") as stub:
        stub.always = after(_REQUESTS, other)
        with hasty_catalog(tmp_path / "home", stub, model=f"tei:@{stub.url}") as catalog:
            job_id = catalog.jobs.submit(str(tree)).job_id
            catalog.jobs.run_here()
            wait_for(catalog, job_id, JobState.COMPLETED)
            waits = [each for each in catalog.jobs.events(job_id) if each.type is EventType.PAUSED]
            assert ["org/two" in str(each.context["reason"]) for each in waits] == [True]
            held = held_in(catalog, tmp_path / "home", tree, stub)
        assert "org/two" in str(held["model"])
        with hasty_catalog(tmp_path / "other", stub, model=f"tei:@{stub.url}") as catalog:
            catalog.create(str(tree)).index()
            assert held == held_in(catalog, tmp_path / "other", tree, stub)


def test_a_text_on_which_the_server_fails_holds_no_job_up(stub: Stub, tmp_path: Path) -> None:
    home, tree = tmp_path / "home", tree_in(tmp_path / "tree")
    write_tree(tree, {"poison.py": "def poison():\n    return 1\n"})
    stub.always = if_any_has("poison", rows(lambda rows: [[float("nan")] * 16 for _ in rows]))
    with hasty_catalog(home, stub) as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        wait_for(catalog, job_id, JobState.COMPLETED)
        assert EventType.PAUSED not in kinds_of(catalog, job_id)
        held_in(catalog, home, tree, stub)
        answer = catalog.search([str(tree)], SearchRequest(query="poison", mode=Mode.KEYWORD))
        assert answer.hits[0].path == "poison.py"


def with_dimension(dimension: int) -> Trick:
    def answer(handler: Handler, received: Received) -> None:
        handler.answer(
            200, handler.vectors(received, lambda rows: [(row * 2)[:dimension] for row in rows])
        )

    return answer


def test_looks_that_mislead_become_rare(stub: Stub, tmp_path: Path) -> None:
    tree = tree_in(tmp_path / "tree")
    with hasty_catalog(tmp_path / "home", stub) as catalog:
        many = rows(lambda rows: rows[: max(1, len(rows) - 1)])  # one text alone is answered
        stub.always = after(_REQUESTS, many)
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        wait_for(catalog, job_id, JobState.BLOCKED, within_s=BLOCKED_S)
        time.sleep(5)  # in which looks at the pace of the first would lead to more
        assert kinds_of(catalog, job_id).count(EventType.PAUSED) <= 6
        stub.behave()
        wait_for(catalog, job_id, JobState.COMPLETED, within_s=RUNNING_S)


def test_a_server_is_left_alone_for_as_long_as_it_wants(stub: Stub, tmp_path: Path) -> None:
    tree = tree_in(tmp_path / "tree")
    with hasty_catalog(tmp_path / "home", stub) as catalog:
        stub.always = after(_REQUESTS, status(429, "quota", retry_after="3600"))
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        check_waits(catalog, job_id, tree, "429: quota")
        asked = len(stub.requests)
        time.sleep(5)  # in which a job that may look does so three times
        assert len(stub.requests) == asked
        catalog.jobs.cancel(job_id)
        wait_for(catalog, job_id, JobState.CANCELLED)


@pytest.mark.parametrize("trick", [hang, drip])
def test_a_job_that_waits_is_cancelled_in_time(trick: Trick, stub: Stub, tmp_path: Path) -> None:
    tree = tree_in(tmp_path / "tree")
    with catalog_in(tmp_path / "home", model=f"openai:m@{stub.url}") as catalog:
        stub.always = status(401)
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        wait_for(catalog, job_id, JobState.BLOCKED, within_s=BLOCKED_S)
        stub.always = trick
        asked = len(stub.requests)
        until(lambda: len(stub.requests) > asked)  # it looks just now, which takes 7 s
        assert catalog.jobs.cancel(job_id).cancel_requested
        wait_for(catalog, job_id, JobState.CANCELLED)
        stub.behave()
        again = catalog.jobs.retry(job_id)
        assert catalog.jobs.follow(again.job_id).status is JobState.COMPLETED


def test_a_job_that_is_cancelled_just_as_it_goes_on(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tree_in(tmp_path / "tree")
    with hasty_catalog(tmp_path / "home", stub) as catalog:
        stub.always = status(401)
        job_id = catalog.jobs.submit(str(tree)).job_id

        def cancel(name: str) -> None:
            if name == "job unblocked":
                catalog.jobs.cancel(job_id)
                time.sleep(1)  # in which the runner learns of it

        monkeypatch.setattr("engine.jobs.execution.fault_point", cancel)
        catalog.jobs.run_here()
        wait_for(catalog, job_id, JobState.BLOCKED, within_s=BLOCKED_S)
        stub.behave()
        assert wait_for(catalog, job_id, JobState.CANCELLED).attempt == 1


def test_a_job_whose_runner_is_killed_while_it_waits_goes_on_by_itself(
    stub: Stub, wanted: dict[str, object], tmp_path: Path
) -> None:
    home, tree = tmp_path / "home", tree_in(tmp_path / "tree")
    with hasty_catalog(home, stub) as catalog:
        stub.always = after(_REQUESTS, status(401))
        job_id = catalog.jobs.submit(str(tree)).job_id
        for attempt in (1, 2):
            catalog.jobs.start_detached()
            until(lambda: catalog.jobs.show(job_id).attempt == attempt)  # noqa: B023
            check_waits(catalog, job_id, tree, "401")
            os.kill(int((home / "locks/runner.lock").read_text()), signal.SIGKILL)
            until(lambda: not processes_of(home))
        stub.behave()
        catalog.jobs.start_detached()
        job = wait_for(catalog, job_id, JobState.COMPLETED)
        assert job.attempt == 3
        assert held_in(catalog, home, tree, stub) == wanted
        assert kinds_of(catalog, job_id).count(EventType.PAUSED) == 2


def test_who_waits_is_told_at_once_and_nothing_is_written(stub: Stub, tmp_path: Path) -> None:
    home, tree = tmp_path / "home", tree_in(tmp_path / "tree")
    with hasty_catalog(home, stub, embedding_timeout=2_000) as catalog:
        for trick in (leave, hang, status(503), rows(lambda rows: rows[:-1])):
            stub.always = trick
            with pytest.raises(EmbedderUnavailableError) as raised:
                catalog.jobs.submit(str(tree), waits=WaitMode.ALWAYS)
            embedding = {"model": f"openai:m@{stub.url}", "status": "unavailable"}
            assert raised.value.details["diagnostics"] == {"embedding": embedding}
            assert stub.url in raised.value.message
            stub.behave()
        assert catalog.jobs.list().total == 0
    with hasty_catalog(home, stub) as catalog:
        assert catalog.jobs.submit(str(tree), waits=WaitMode.ALWAYS).status is JobState.PENDING


def test_a_model_that_stays_away_ends_the_job(stub: Stub, tmp_path: Path) -> None:
    tree = tree_in(tmp_path / "tree")
    with hasty_catalog(tmp_path / "home", stub, embedder_patience=1) as catalog:
        stub.always = after(_REQUESTS, status(401))
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        job = wait_for(catalog, job_id, JobState.FAILED)
        assert job.error is not None
        assert job.error["error"] == "unavailable"
        message = str(job.error["message"])
        assert message.startswith("embedding model unavailable: the embedding server")
        assert "it has lasted" in message
        assert (job.files_done, job.chunks_done) == (FILES, 64)
        partial = answer_of(catalog, job, []).content["partial_results"]
        assert partial == {
            "files_processed": FILES,
            "symbols_extracted": job.counts["symbols"],
            "embeddings_generated": job.counts["embeddings"],
        }
        assert min(job.counts["symbols"], job.counts["embeddings"]) > 0
        stub.behave()
        again = catalog.jobs.retry(job_id)
        assert catalog.jobs.follow(again.job_id).status is JobState.COMPLETED


def test_a_run_over_some_paths_makes_the_vectors_it_waited_for(stub: Stub, tmp_path: Path) -> None:
    home, tree = tmp_path / "home", tree_in(tmp_path / "tree")
    with hasty_catalog(home, stub) as catalog:
        catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        write_tree(tree, {"more/new.py": module(1000), "part_3.py": module(1001)})
        stub.always = status(401)
        some = IndexOptions(only=("more", "part_3.py"))
        job_id = catalog.jobs.submit(str(tree), some, origin=JobOrigin.WATCH).job_id
        catalog.jobs.run_here()
        wait_for(catalog, job_id, JobState.BLOCKED, within_s=BLOCKED_S)
        stub.behave()
        wait_for(catalog, job_id, JobState.COMPLETED)
        held = held_in(catalog, home, tree, stub)
    with hasty_catalog(tmp_path / "other", stub) as catalog:
        catalog.create(str(tree)).index()
        assert held == held_in(catalog, tmp_path / "other", tree, stub)


def test_a_job_keeps_to_what_its_server_can_take(
    stub: Stub, wanted: dict[str, object], tmp_path: Path
) -> None:
    home, tree = tmp_path / "home", tree_in(tmp_path / "tree")
    long = write_tree(tmp_path / "long", {"long.py": "x = (\n" + "    1 +\n" * 900 + "2)\n"})
    stub.most_items, stub.longest = 5, 1200
    with hasty_catalog(home, stub) as catalog:
        catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        assert held_in(catalog, home, tree, stub) == wanted
        assert sum(size > 5 for size in stub.sizes) <= 2  # learned once
        asked = len(stub.requests)
        job = catalog.jobs.follow(catalog.jobs.submit(str(long)).job_id)
        assert job.status is JobState.COMPLETED
        assert job.chunks_done == job.chunks_total
        assert len(stub.requests) - asked <= 6 * (job.chunks_total or 0) + 3


@pytest.mark.soak
def test_an_outage_of_a_minute_leaves_few_events(stub: Stub, tmp_path: Path) -> None:
    tree = tree_in(tmp_path / "tree")
    with catalog_in(tmp_path / "home", model=f"openai:m@{stub.url}") as catalog:
        stub.always = after(_REQUESTS, status(503))
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        wait_for(catalog, job_id, JobState.BLOCKED, within_s=BLOCKED_S)
        asked = len(stub.requests)
        time.sleep(60)
        moments = [each.at_s for each in stub.requests[asked:]]
        assert max(after - at for at, after in pairwise(moments)) <= PROBES_S
        stub.behave()
        wait_for(catalog, job_id, JobState.RUNNING, JobState.COMPLETED, within_s=RUNNING_S)
        wait_for(catalog, job_id, JobState.COMPLETED)
        types = [event.type for event in catalog.jobs.events(job_id)]
        paused = types.index(EventType.PAUSED)
        assert types[paused + 1] is EventType.RESUMED
        assert types.count(EventType.PAUSED) == types.count(EventType.RESUMED) == 1


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
