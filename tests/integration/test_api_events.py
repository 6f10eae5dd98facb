"""The stream of events: the state first, changes as they happen, and what a client missed."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.state_records import ProjectActivity, WatchState, WatchStatus
from tests.support.command import Command
from tests.support.job_records import job
from tests.support.jobs import until
from tests.support.patience import patience
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE, write_tree
from web.api.event_stream import MOST_STREAMS, Activities, Event, EventStream
from web.errors import Refusal


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    command = Command(home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})
    with serving(command) as server:
        yield server


class Reader:
    """Reads events from a stream."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()

    def next(self) -> dict[str, Any]:
        """Give the next event."""
        found: dict[str, str] = {}
        for line in self._lines:
            name, _, value = line.partition(": ")
            if name:
                found[name] = value
            elif "data" in found:
                return {**found, "data": json.loads(found["data"])}
        raise AssertionError("the stream has ended")

    def until(self, type_: str, **values: object) -> dict[str, Any]:
        """Give the first event of a type whose data has these values."""
        while True:
            event = self.next()
            data = event["data"]
            if event["event"] == type_ and all(data[name] == v for name, v in values.items()):
                return event


def test_jobs_and_watchers_are_told_of(server: Server, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with server.client() as client, client.stream("GET", "/api/v1/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-frame-options"] == "DENY"
        reader = Reader(answer)
        state = reader.next()
        assert (state["event"], state["data"]) == ("state", {"projects": [], "jobs": []})
        with server.client() as other:
            asked = other.post("/api/v1/projects", json={"path": str(tree)}).json()
        reader.until("project", path=str(tree), is_there=True)
        done = reader.until("job", job_id=asked["job_id"], status="completed")
        assert done["data"]["result"]["files_indexed"] == 5
        seen = reader.until("watch", path=str(tree))
        assert seen["data"]["watch"]["state"] in ("starting", "watching")

    with server.client() as client:
        again = {"Last-Event-ID": done["id"]}
        with client.stream("GET", "/api/v1/events", headers=again) as answer:
            number = int(done["id"].rpartition("-")[2])
            assert Reader(answer).next()["id"].endswith(f"-{number + 1}")
        with client.stream("GET", "/api/v1/events", headers={"Last-Event-ID": "x-1"}) as answer:
            state = Reader(answer).next()
            assert state["event"] == "state"
            assert [each["path"] for each in state["data"]["projects"]] == [str(tree)]


def test_streams_have_an_end_and_leave_room_for_others(server: Server) -> None:
    limits = httpx.Limits(max_connections=200)
    with server.client(limits=limits) as client:
        open_ones = []
        readers = []  # a reader that goes takes its stream with it
        for _ in range(MOST_STREAMS):
            answer = client.send(client.build_request("GET", "/api/v1/events"), stream=True)
            open_ones.append(answer)
            readers.append(Reader(answer))
            readers[-1].next()
        with client.stream("GET", "/api/v1/events") as refused:
            assert refused.status_code == 429
        assert client.get("/health").status_code == 200
        for answer in open_ones:
            answer.close()

        def has_room() -> bool:
            with client.stream("GET", "/api/v1/events") as answer:
                return answer.status_code == 200

        until(has_room)


def _pulse(**changes: Any) -> ProjectActivity:
    plain = ProjectActivity(project_id="a" * 64, path="/a", jobs=(job(),), watch=None)
    return replace(plain, **changes)


def _told(activities: list[Activities], *, wanted: int) -> list[Event]:
    """Return the first events of a stream over states that follow each other.

    In a silence before or between them the stream sends a sign of life, and so it does after them.
    """

    async def tell() -> list[Event]:
        states = iter(activities)
        now = [activities[0]]

        async def look() -> Activities:
            now[0] = next(states, now[0])
            return now[0]

        event_stream = EventStream(look, look_s=0.01, ping_s=0.2)
        events: list[Event] = []
        async with asyncio.timeout(patience(20)):
            async for event in event_stream.stream(None):
                if event:
                    events.append(event)
                elif len(events) >= wanted:
                    break
        await event_stream.close()
        return events

    return asyncio.run(tell())


def test_only_changes_are_told_and_silence_is_broken() -> None:
    watching = WatchStatus(state=WatchState.WATCHING)
    events = _told(
        [
            (_pulse(),),
            (_pulse(),),
            (_pulse(jobs=(replace(job(), elapsed_seconds=9.0),)),),
            (_pulse(jobs=(replace(job(), done=300),)),),
            (_pulse(jobs=(replace(job(), done=300),), watch=watching),),
            (),
        ],
        wanted=4,
    )
    assert [event.type for event in events] == ["state", "job", "watch", "project"]
    assert [int(event.id.rpartition("-")[2]) for event in events] == [0, 1, 2, 3]


def test_there_are_not_more_streams_than_that() -> None:
    async def tell() -> None:
        async def look() -> Activities:
            return ()

        event_stream = EventStream(look)
        streams = [event_stream.stream(None) for _ in range(MOST_STREAMS)]
        for stream in streams:
            await anext(stream)
        with pytest.raises(Refusal):
            await anext(event_stream.stream(None))
        await event_stream.close()

    asyncio.run(tell())


def test_a_state_that_cannot_be_read_ends_the_streams_instead_of_silencing_them() -> None:
    async def tell() -> list[Event | None]:
        tries = itertools.count()

        async def look() -> Activities:
            if next(tries):
                raise RuntimeError("nobody foresaw this")
            return ()

        event_stream = EventStream(look, look_s=0.01)
        events = [event async for event in event_stream.stream(None)]
        with pytest.raises(RuntimeError):  # whoever comes back is told
            await anext(event_stream.stream(None))
        await event_stream.close()
        return events

    events = asyncio.run(asyncio.wait_for(tell(), patience(15)))
    assert [event.type for event in events if event] == ["state"]
