"""``cairn jobs`` and ``cairn index`` as processes: background, duplicates, cancelling, resuming."""

import fcntl
import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from engine.index_records import IndexOptions
from engine.roots import project_id_of
from engine.state_records import JobFilter, JobState
from tests.support.command import Command
from tests.support.embedders import Fakes, HeldEmbedder
from tests.support.git_history import sample_history
from tests.support.jobs import catalog_in, until
from tests.support.patience import patience
from tests.support.trees import write_tree

pytestmark = pytest.mark.slow

FILES = 600


@pytest.fixture
def cairn(tmp_path: Path) -> Iterator[Command]:
    """Give a command in a repository that takes a moment; no runner is left when the test ends."""
    repository = tmp_path / "repository"
    body = "".join(f"def function_{n}(value):\n    return value + {n}\n\n" for n in range(60))
    for number in range(FILES):
        file = repository / f"part{number % 6}" / f"m{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {number}\n{body}")
    settings = {"CAIRN_WORKERS": "1", "CAIRN_BATCH_BYTES": "65536"}
    command = Command(home=tmp_path / "home", folder=repository, variables=settings)
    yield command
    for job in _jobs(command, "--all"):
        if job["status"] in {"pending", "running", "blocked"}:
            command("jobs", "cancel", job["job_id"])
    until(lambda: not _is_held(command.home / "locks/runner.lock"))


def _jobs(command: Command, *options: str) -> list[dict[str, Any]]:
    page = command("jobs", "list", "--json", *options).json()
    found: list[dict[str, Any]] = page["jobs"]
    return found


def _job(command: Command) -> dict[str, Any]:
    [job] = _jobs(command)
    return job


def _is_held(lock: Path) -> bool:
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


@contextmanager
def _busy(command: Command) -> Iterator[None]:
    """Hold the project as if another process were indexing it: its jobs are blocked meanwhile."""
    folder = command.home / "locks"
    folder.mkdir(mode=0o700, exist_ok=True, parents=True)
    with (folder / f"{project_id_of(str(command.folder))}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stuck(command: Command) -> Command:
    """Give the command with a file in the middle whose parser takes a minute."""
    hangs = {"CAIRN_FAULT": "hang:parse:part3/m303.py", "CAIRN_PARSE_TIMEOUT": "600000"}
    return replace(command, variables={**command.variables, **hangs})


def _read_until(process: Popen[bytes], words: bytes) -> bytes:
    assert process.stderr is not None
    said = b""
    while words not in said:
        said = process.stderr.readline()
        assert said, f"it ended before it said {words!r}"
    return said


def test_in_the_background_and_looked_at_later(cairn: Command) -> None:
    begun = cairn("index", "--background", "--json")
    shape = begun.json()
    assert (begun.code, begun.err) == (0, "")
    assert list(shape) == ["job_id", "status", "duplicate", "estimated_seconds", "warnings"]
    assert shape["duplicate"] is False
    followed = cairn("jobs", "show", shape["job_id"][-8:], "--follow", "--json")
    job = followed.json()
    assert (followed.code, job["job_id"], job["status"]) == (0, shape["job_id"], "completed")
    assert job["result"]["files_indexed"] == FILES
    shown = cairn("jobs", "show", shape["job_id"], "--json").json()
    assert {**job, "log": None} == {**shown, "log": None}  # which is written when it has ended
    assert cairn("search", "function_7", "--json").json()["coverage"]["complete"]


def test_the_background_says_how_to_look(cairn: Command) -> None:
    hangs = {"CAIRN_FAULT": "hang:parse", "CAIRN_PARSE_TIMEOUT": "600000"}
    endless = replace(cairn, variables={**cairn.variables, **hangs})
    said = endless("index", "-b")
    job = _job(cairn)
    assert said.out.startswith(f"job {job['job_id']}")
    assert f"cairn jobs show {job['job_id'][-8:]} --follow" in said.out
    again = endless("index", "-b")
    assert job["job_id"] in again.out
    assert len(_jobs(cairn)) == 1


def test_a_job_is_cancelled_in_the_middle_and_another_one_goes_on(cairn: Command) -> None:
    with _stuck(cairn).start("index") as process:
        until(lambda: any(job["files_done"] for job in _jobs(cairn)))
        job = _job(cairn)
        cancelled = cairn("jobs", "cancel", job["job_id"], "--reason", "wrong folder")
        out, err = process.communicate(timeout=patience(30))
    name = job["job_id"][-8:]
    if cancelled.code == 1:  # it waits for 10 s, which may be too short
        assert cancelled.out.startswith(f"job {name} is stopping")
    else:
        assert cancelled.code == 0, cancelled
        assert cancelled.out.startswith(f"stopped job {name} of {cairn.folder}\n")
        assert "done so far can be searched" in cancelled.out
    assert (process.returncode, out) == (130, b"")
    assert f"interrupted: job {name} was stopped".encode() in err
    ended = _job(cairn)
    assert ended["status"] == "cancelled"
    assert 0 < ended["files_done"] < FILES

    twice = cairn("jobs", "cancel", name, "--json")
    assert (twice.code, twice.json()["error"]) == (4, "conflict")
    assert "wrong folder" in cairn("jobs", "events", name).out
    retried = cairn("jobs", "retry", name, "--json").json()
    assert retried["files_indexed"] + retried["files_unchanged"] == FILES
    assert retried["files_indexed"] <= FILES - ended["files_done"]
    refused = cairn("jobs", "retry", _jobs(cairn)[0]["job_id"], "--json")
    assert (refused.code, refused.json()["error"]) == (4, "conflict")


def test_the_same_folder_twice_is_one_job(cairn: Command) -> None:
    with ExitStack() as stack:
        with _busy(cairn):
            first = stack.enter_context(cairn.start("index"))
            until(lambda: [job["status"] for job in _jobs(cairn)] == ["blocked"])
            second = stack.enter_context(cairn.start("index"))
            said = _read_until(second, b"following it")
            assert said.startswith(b"already blocked as job ")
            other = cairn("index", "--include", "*.go", "--json")
        outputs = [process.communicate(timeout=patience(60))[0] for process in (first, second)]
    job = _job(cairn)
    assert [first.returncode, second.returncode] == [0, 0]
    assert outputs[0] == outputs[1]
    assert f"{FILES} new or changed".encode() in outputs[0]
    assert (other.code, other.json()["error"]) == (4, "conflict")
    assert job["job_id"] in other.json()["message"]


@pytest.mark.parametrize("options", [(), ("--force",)])
def test_who_joins_a_job_that_had_begun_is_told_of_later_changes(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    files = {"a.py": '"""This is held back."""\n', "b.py": "x = 1\n"}
    tree, home = write_tree(tmp_path / "tree", files), tmp_path / "home"
    cairn = Command(home=home, folder=tree)
    model = HeldEmbedder()
    with catalog_in(home, opens=Fakes(model), model="fake:a") as catalog, ExitStack() as stack:
        assert catalog.jobs.run_here()
        first = catalog.jobs.submit(str(tree), IndexOptions(force=bool(options))).job_id
        assert model.is_holding.wait(patience(60.0))
        (tree / "new.py").write_text("uncommon = 1\n")
        joined = [stack.enter_context(cairn.start("index", *options)) for _ in range(2)]
        for process in joined:
            assert f"as job {first[-8:]}".encode() in _read_until(process, b"following it")
        model.is_free.set()
        said = [process.communicate(timeout=patience(60)) for process in joined]
        jobs = catalog.jobs.list(JobFilter()).jobs
    assert [process.returncode for process in joined] == [0, 0]
    assert all(b"looking for changes since" in err for _, err in said)
    assert 2 <= len(jobs) <= 3  # both are content with the same second job, if it is in time
    assert {job.status for job in jobs} == {JobState.COMPLETED}
    assert [(job.result or {})["files_indexed"] for job in jobs[:-1]].count(1) == 1
    assert any(b"1 new or changed, 2 unchanged" in out for out, _ in said)


def test_who_follows_can_leave_and_the_job_goes_on(cairn: Command) -> None:
    with _busy(cairn):
        cairn("index", "--background")
        with cairn.start("index") as process:
            _read_until(process, b"following it")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=patience(30))
    job = _job(cairn)
    name = job["job_id"][-8:]
    assert (process.returncode, out) == (130, b"")
    said = f"interrupted: job {name} is still active: cairn jobs show {name} --follow"
    assert said.encode() in err
    assert not job["cancel_requested"]
    assert cairn("jobs", "show", name, "--follow").code == 0
    assert _job(cairn)["status"] == "completed"


def _killed(cairn: Command) -> dict[str, Any]:
    """Kill a command in the middle of its job, and return the job, which nobody runs now."""
    with _stuck(cairn).start("index") as process:
        until(lambda: any(job["files_done"] for job in _jobs(cairn)))
        process.kill()
        process.communicate(timeout=patience(30))
    job = _job(cairn)
    assert job["status"] == "running"
    return job


def test_a_job_whose_runner_was_killed_goes_on(cairn: Command) -> None:
    killed = _killed(cairn)
    report = cairn("index", "--json").json()
    job = _job(cairn)
    assert (job["job_id"], job["attempt"], job["status"]) == (killed["job_id"], 2, "completed")
    assert report["files_indexed"] == FILES
    assert "attempt 2" in cairn("jobs", "show", job["job_id"]).out
    types = [json.loads(line)["type"] for line in _events(cairn, job).splitlines()]
    assert (types[0], types[-1]) == ("created", "completed")
    assert "resumed" in types


def test_a_job_in_the_way_whose_runner_was_killed_is_made_to_run(cairn: Command) -> None:
    killed = _killed(cairn)
    refused = cairn("index", "--force")
    assert refused.code == 4
    assert killed["job_id"] in refused.err
    until(lambda: _job(cairn)["status"] == "completed")
    assert _job(cairn)["job_id"] == killed["job_id"]


def _events(command: Command, job: dict[str, Any]) -> str:
    ended = command("jobs", "events", job["job_id"], "--json")
    assert ended.code == 0
    return ended.out


def test_events_are_followed_to_the_end(cairn: Command) -> None:
    cairn("index", "--background")
    ended = cairn("jobs", "events", _job(cairn)["job_id"], "--follow", "--json")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "completed"


def test_who_follows_the_events_of_a_job_without_a_runner_gets_it_one(cairn: Command) -> None:
    killed = _killed(cairn)
    ended = cairn("jobs", "events", killed["job_id"], "--follow")
    assert ended.code == 0
    assert "resumed" in ended.out
    assert "completed" in ended.out.splitlines()[-1]
    assert _job(cairn)["attempt"] == 2


def test_the_list_is_filtered_and_paged(cairn: Command) -> None:
    small = _small(cairn, 3)
    for number in range(3):
        assert small("index", str(small.folder / f"p{number}"), "--quiet").code == 0
    assert len(_jobs(small)) == 3
    assert [job["path"] for job in _jobs(small, "--project", str(small.folder / "p1"))] == [
        str(small.folder / "p1")
    ]
    assert _jobs(small, "--status", "failed") == []
    assert _jobs(small, "--origin", "watch") == []
    assert len(_jobs(small, "--since", "1h", "--all")) == 3
    assert _jobs(small, "--until", "1h") == []
    first = small("jobs", "--limit", "2", "--json").json()
    second = small("jobs", "--cursor", first["next_cursor"], "--json").json()
    ids = [job["job_id"] for job in first["jobs"] + second["jobs"]]
    assert ids == [job["job_id"] for job in _jobs(small)]
    assert second["next_cursor"] is None
    text = small("jobs").out.splitlines()
    assert text[0].split() == ["ID", "STATE", "PROJECT", "PROGRESS", "TIME", "AGE"]
    assert len(text) == 5
    assert "\x1b" not in "".join(text)


def _small(command: Command, projects: int) -> Command:
    folder = command.folder.parent / "small"
    for number in range(projects):
        (folder / f"p{number}").mkdir(parents=True)
        (folder / f"p{number}" / "app.py").write_text("def main():\n    return 1\n")
    return replace(command, folder=folder)


def test_nothing_was_done_yet(cairn: Command) -> None:
    assert "cairn index PATH" in cairn("jobs").out
    assert cairn("jobs", "list", "--json").json() == {
        "jobs": [],
        "total": 0,
        "next_cursor": None,
        "errors": [],
    }


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("jobs", "show", "abc"), 2, "too short"),
        (("jobs", "show", "zzzz"), 3, "starts or ends"),
        (("jobs", "show", "00000000-0000-8000-8000-000000000000"), 3, "no job has the id"),
        (("jobs", "--since", "soon"), 2, "--since is 'soon'"),
        (("jobs", "--limit", "0"), 2, "limit is 0"),
        (("jobs", "--status", "lost"), 2, "'lost'"),
        (("jobs", "--cursor", "!"), 2, "cursor"),
        (("jobs", "--project", "/nonexistent"), 3, "/nonexistent"),
        (("jobs", "stop", "abcd"), 2, "stop"),
    ],
)
def test_bad_input(cairn: Command, arguments: tuple[str, ...], code: int, said: str) -> None:
    ended = cairn(*arguments, "--json")
    assert (ended.code, ended.err) == (code, "")
    assert said in ended.json()["message"]


def test_the_beginning_of_an_id_that_fits_several_jobs_names_them(cairn: Command) -> None:
    small = replace(_small(cairn, 1), folder=cairn.folder.parent / "small" / "p0")
    for _ in range(2):
        small("index", "--quiet")
    ids = [job["job_id"] for job in _jobs(small)]
    ended = small("jobs", "show", ids[0][:6], "--json")
    assert (ended.code, ended.json()["details"]["job_ids"]) == (2, ids)
    for job_id in ids:
        assert job_id[-8:] in ended.json()["message"]
        assert small("jobs", "show", job_id[-6:], "--json").json()["job_id"] == job_id


def test_a_waiting_job_is_shown_with_its_reason_and_cancelled(cairn: Command) -> None:
    small = replace(_small(cairn, 1), folder=cairn.folder.parent / "small" / "p0")
    small("index", "--quiet")
    with _busy(small):
        small("index", "--background")
        until(lambda: _jobs(small)[0]["status"] == "blocked")
        job = _jobs(small)[0]
        assert job["waiting"]
        shown = small("jobs", "show", job["job_id"]).out
        assert f"waiting   {job['waiting']}" in shown
        assert "it continues by itself" in shown
        assert f"          {job['waiting']}" in small("jobs").out
        assert small("jobs", "cancel", job["job_id"], "--json").json()["cancel_requested"]
        until(lambda: _jobs(small)[0]["status"] == "cancelled")


def test_a_failed_job_ends_whoever_follows_it_as_its_error_would(cairn: Command) -> None:
    folder = cairn.folder.parent / "small" / "p0"
    small = replace(_small(cairn, 1), folder=folder)
    small("index", "--quiet")
    with _busy(small):
        small("index", "--background")
        until(lambda: _jobs(small)[0]["status"] == "blocked")
        os.rename(folder, folder.with_name("gone"))
    elsewhere = replace(small, folder=folder.parent)
    job_id = _jobs(elsewhere)[0]["job_id"]
    followed = elsewhere("jobs", "show", job_id, "--follow", "--json")
    job = followed.json()
    assert job["status"] == "failed"
    assert followed.code not in {0, 130}
    assert elsewhere("jobs", "events", job_id, "--follow").code == followed.code
    assert elsewhere("jobs", "events", job_id).code == 0
    shown = elsewhere("jobs", "show", job_id).out
    assert f"error     {job['error']['message']}" in shown
    assert f"cairn jobs retry {job_id[-8:]}" in shown
    assert job["error"]["message"] in elsewhere("jobs").out


def test_a_history_that_was_stopped_is_retried(tmp_path: Path) -> None:
    git, home = sample_history(tmp_path / "tree", tmp_path), tmp_path / "home"
    cairn = Command(home=home, folder=git.root)
    with catalog_in(home) as catalog:
        catalog.create(str(git.root)).index()
        job_id = catalog.jobs.submit_history(str(git.root)).job_id
        catalog.jobs.cancel(job_id)
    told = cairn("jobs", "retry", job_id)
    assert told.code == 0, told
    assert told.out.startswith(f"read the history of {git.root} in ")
    assert told.out.endswith("  commits  5 new commits, 5 in total\n")
    again = cairn("jobs", "retry", job_id, "--json")
    assert list(again.json()) == ["commits", "commits_added", "commits_removed", "duration_ms"]


def test_being_the_runner(cairn: Command) -> None:
    idle = cairn("jobs", "run")
    assert (idle.code, idle.out) == (0, "no jobs left\n")
    with cairn.start("jobs", "run", "--forever") as process:
        until(lambda: _is_held(cairn.home / "locks/runner.lock"))
        assert cairn("jobs", "run", "--json").json()["idle"] is False
        assert cairn("index", "--json").json()["files_indexed"] == FILES
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=patience(30))
    assert (process.returncode, out) == (0, b"stopped\n")
