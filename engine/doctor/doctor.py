"""The doctor of one project, and its findings as sentences, commands and a log.

It does not need an index that can be opened: the file and the project's root are enough. The log
of a verification, ``verify-<UTC time>.log`` among the logs of jobs, is written for people.
"""

import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from engine.cancellation import CancelToken, never
from engine.clock import now_ms
from engine.config import Config
from engine.doctor.check import MOST_PLACES, Context, Problem
from engine.doctor.examination import Examination, examine, repair_findings
from engine.doctor.rebuild import Rebuilt, rebuild_file
from engine.doctor.structure import leftovers_of
from engine.doctor_records import (
    Backup,
    CheckCallback,
    CheckProgress,
    Compaction,
    Finding,
    FindingCode,
    Remedy,
    Repair,
    Severity,
    Verification,
    remedies_of,
    remedy_of,
)
from engine.embedding.load import OpenEmbedder
from engine.errors import (
    Cancelled,
    EngineError,
    IndexCorruptError,
    InvalidPathError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.faults import fault_point
from engine.files import is_there, size_of
from engine.humanize import size
from engine.jobs.operation_log import VERIFIED_SOUND, duration_of, log_block, write_log
from engine.jobs.watchlist import without_job
from engine.project_files import delete_dead
from engine.records import display_path
from engine.store import repair
from engine.store.connection import Store
from engine.store.opening import gone

_COMMANDS = {
    Remedy.INDEX: "cairn index PATH",
    Remedy.REPAIR: "cairn doctor PATH --repair",
    Remedy.REBUILD: "cairn doctor PATH --rebuild",
}
#: Findings that are not damage.
_NOTES = frozenset(
    {
        FindingCode.UNPARSED,
        FindingCode.JOB_WAITS,
        FindingCode.CHANGES_WAIT,
        FindingCode.LEFTOVERS,
    }
)
#: The order of findings: causes come before their consequences.
_ORDER = list(FindingCode)

#: Findings before a repair, which deletes such rows, that the next indexing run makes up for.
_DELETED = frozenset({FindingCode.STRAY_ROWS})
#: Findings after a repair that it makes up for.
_MISSING = frozenset({FindingCode.UNPARSED, FindingCode.VECTORS_MISSING})


def _finding_of(problem: Problem, path: str) -> Finding:
    """Return the public finding of a problem."""
    code = problem.code
    severity = Severity.NOTE if problem.is_note or code in _NOTES else Severity.DAMAGE
    remedy = remedy_of(code, severity)
    return Finding(
        code=code,
        message=problem.message,
        count=problem.number,
        places=problem.places[:MOST_PLACES],
        severity=severity,
        fix=_command_of(remedy, path) if remedy else "",
    )


def findings_of(problems: Iterable[Problem], path: str) -> tuple[Finding, ...]:
    """Return all findings, damage first."""
    found = [_finding_of(problem, path) for problem in problems]
    return tuple(
        sorted(found, key=lambda each: (each.severity is Severity.NOTE, _ORDER.index(each.code)))
    )


def warnings_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the findings as sentences, with a recommendation."""
    sentences = [finding.message for finding in findings]
    damage = [finding for finding in findings if finding.severity is Severity.DAMAGE]
    if damage:
        sentences.append(f"Recommend: run {damage[0].fix}")
    return tuple(sentences)


def fixes_of(findings: Sequence[Finding], path: str) -> tuple[str, ...]:
    """Return the commands that help, the first one first."""
    return tuple(_command_of(remedy, path) for remedy in remedies_of(findings))


def _command_of(remedy: Remedy, path: str) -> str:
    """Return the command of a remedy, with PATH left for the reader when no folder is known."""
    return _COMMANDS[remedy].replace("PATH", shlex.quote(path) if path else "PATH")


def write_verify_log(folder: Path, found: Verification, size_bytes: int) -> Path | None:
    """Write the log; None when it cannot be written, which changes nothing of what was found.

    Args:
        folder: The project's logs.
        found: The verification.
        size_bytes: Of the index.
    """
    at_ms = now_ms()
    try:
        return write_log(folder, "verify", at_ms, _lines(found, at_ms, size_bytes))
    except OSError:
        return None


def _lines(found: Verification, at_ms: int, size_bytes: int) -> Iterator[str]:
    started_ms = at_ms - found.took_ms
    yield from log_block(
        started_ms, "VERIFY START", f"Repository: {found.path}", f"Index: {found.project_id}.db"
    )
    counted = [f"{name.capitalize().replace('_', ' ')}: {n:,}" for name, n in found.checked.items()]
    if counted:
        yield from log_block(at_ms, "Checked", *counted)
    for finding in found.findings:
        title = "DAMAGE" if finding.severity is Severity.DAMAGE else "Note"
        yield from log_block(at_ms, f"{title} {finding.code}", *_describe(finding))
    lines = [f"Warnings: {len(found.warnings)}"]
    lines += [f"What to do: {fix}" for fix in found.suggested_fixes]
    lines += [f"Duration: {duration_of(found.took_ms)}", f"Index size: {size(size_bytes)}"]
    end = VERIFIED_SOUND if found.ok else "VERIFY COMPLETE: damaged"
    yield from list(log_block(at_ms, end, *lines))[:-1]


def _describe(finding: Finding) -> Iterator[str]:
    yield finding.message
    yield from (f"  {place}" for place in finding.places)
    left = finding.count - len(finding.places)
    if finding.places and left > 0:
        yield f"  and {left:,} more"


class Doctor:
    """Checks, repairs, rebuilds and backs up the index of one project.

    Args:
        file: The database file.
        root: The resolved folder that it indexes, or None when it is unknown; repair and rebuild
            then fail.
        config: The settings in force.
        open_embedder: Opens the model that the settings name.
    """

    def __init__(
        self, file: Path, root: str | None, config: Config, open_embedder: OpenEmbedder
    ) -> None:
        self._root = root
        self.project_id = file.stem
        self._file = file
        self._config = config
        self._open_embedder = open_embedder

    @property
    def root(self) -> str:
        """The resolved folder that is indexed.

        Raises:
            InvalidPathError: The file is damaged, and its folder is unknown.
        """
        if self._root is None:
            raise InvalidPathError(
                "the damaged file does not say which folder it indexes",
                hint="give the project's root",
                field="path",
            )
        return self._root

    @property
    def _path(self) -> str:
        """The root for display; empty when it is unknown."""
        return "" if self._root is None else display_path(self._root)

    def verify(
        self,
        *,
        on_progress: CheckCallback | None = None,
        cancelled: CancelToken | None = None,
    ) -> Verification:
        """Check everything in the index and write a log; nothing is changed.

        There is no log of a file that was never filled.

        Args:
            on_progress: Called with the current step, in this thread.
            cancelled: Polled often; verification stops within a second of true.

        Raises:
            ProjectNotFoundError: The file is gone.
            IndexTooNewError: A newer version wrote the file.
            UnavailableError: The database is locked, or the disk fails.
            Cancelled: ``cancelled`` returned true.
        """
        started = time.monotonic()
        examination = self._examine(on_progress or _ignore, cancelled or never)
        return self._verification(examination, started)

    def repair(
        self,
        *,
        on_progress: CheckCallback | None = None,
        cancelled: CancelToken | None = None,
    ) -> Repair:
        """Repair what is damaged and only that, then verify again.

        A file that cannot be repaired row by row is rebuilt with the jobs and the scope that can be
        read, and the damaged file is kept beside it. A repair that has done something is reported
        even if it then fails, or the check after it: that is damage in ``after``.

        Args:
            on_progress: As for ``verify``.
            cancelled: As for ``verify``; finished repairs stay.

        Raises:
            InvalidPathError: The indexed folder is unknown.
            ProjectBusyError: The project is being indexed.
            ProjectNotFoundError: The file is gone.
            IndexTooNewError: A newer version wrote the file.
            UnavailableError: There is no room, the database is locked, or the disk fails, and
                nothing was repaired.
            Cancelled: ``cancelled`` returned true; the message says what was repaired.
        """
        on_progress, cancelled = on_progress or _ignore, cancelled or never
        started, root = time.monotonic(), self.root
        done: list[str] = []
        rebuilt = after = None
        with without_job(self._file):
            found = self._examine(on_progress, cancelled)
            before = self._verification(found, started)
            looked, step = time.monotonic(), "the repair"
            try:
                rebuilt = self._repair(found, on_progress, cancelled, done)
                looked, step = time.monotonic(), "the check after the repair"
                after = self._verification(self._examine(on_progress, cancelled), looked)
                if not after.ok and rebuilt is None:
                    step = "the rebuild of the file"
                    rebuilt = rebuild_file(self._file, root, self._config)
                    done += _told(rebuilt)
                    step = "the check after the repair"
                    after = self._verification(self._examine(on_progress, cancelled), looked)
            except Cancelled as stopped:
                if not done:
                    raise
                raise Cancelled("; ".join([*done, f"{step} was stopped"])) from stopped
            except EngineError as error:
                if not done:
                    raise
                message = f"{step.capitalize()} failed: {error.message}"
                problem = Problem(FindingCode.UNFINISHED, message, 1)
                after = self._verification(Examination([problem]), looked)
        is_lacking = _has(before, _DELETED) or _has(after, _MISSING)
        return Repair(
            project_id=self.project_id,
            path=self._path,
            ok=after.ok,
            done=tuple(done),
            kept=_kept(rebuilt, after),
            needs_index=rebuilt is not None or is_lacking,
            aside=str(rebuilt.aside) if rebuilt and rebuilt.aside else None,
            before=before,
            after=after,
            took_ms=_ms_since(started),
        )

    def compact(self) -> Compaction:
        """Return free space in the file to the disk.

        Needs room for a second copy meanwhile and blocks every other writer until it is done.

        Raises:
            ProjectBusyError: The project is being indexed.
            DiskFullError: There is no room for it.
            EngineError: The file is not a sound index.
        """
        started = time.monotonic()
        with without_job(self._file), closing(self._open()) as store:
            before = store.size_bytes()
            store.compact()
            with store.write(bookkeeping=True) as handle:
                repair.record_usage(handle)
            store.checkpoint()
            after = store.size_bytes()
        return Compaction(
            project_id=self.project_id,
            path=self._path,
            bytes_before=before,
            bytes_after=after,
            took_ms=_ms_since(started),
        )

    def back_up(self, target: Path) -> Backup:
        """Write a copy of the index as it is now, whole or not at all; jobs may go on meanwhile.

        To restore, copy it back under the name of the database while nothing uses that.

        Raises:
            InvalidPathError: The target is there already, or its folder is not.
            IndexCorruptError: The index is damaged; there is no copy.
            UnavailableError: There is no room, or the folder cannot be written.
        """
        started = time.monotonic()
        try:
            delete_dead(repair.parts_of(target))
            with closing(self._open()) as store:
                size_bytes = repair.copy(store, target)
        except FileExistsError as error:
            raise InvalidPathError(
                f"there is a file already: {target}", hint="choose another name", field="target"
            ) from error
        except (FileNotFoundError, NotADirectoryError) as error:
            raise InvalidPathError(f"there is no folder {target.parent}", field="target") from error
        except OSError as error:
            raise UnavailableError(f"cannot write {target}: {error.strerror}") from error
        return Backup(
            project_id=self.project_id,
            path=self._path,
            file=str(target),
            size_bytes=size_bytes,
            took_ms=_ms_since(started),
        )

    def rebuild(self) -> None:
        """Set a database aside that no job can be written to; its jobs, memories and scope stay.

        The new one is empty. An index that jobs can be written to is rebuilt by a job, see
        ``IndexOptions.force_clean``: it answers until that has ended.

        Raises:
            InvalidPathError: The indexed folder is unknown.
            ProjectBusyError: The project is being indexed.
            ProjectNotFoundError: The file is gone.
            IndexTooNewError: A newer version wrote the file.
            UnavailableError: There is no room, or the database is locked.
        """
        root = self.root
        with without_job(self._file):
            with suppress(IndexCorruptError):
                self._open().close()
            rebuild_file(self._file, root, self._config)

    def _open(self) -> Store:
        if not is_there(self._file):
            raise ProjectNotFoundError(f"{self._path} is not indexed")
        try:
            return Store(self._file, busy_timeout_ms=self._config.busy_timeout)
        except ProjectNotFoundError as error:  # a file of 0 bytes
            raise IndexCorruptError(error.message, hint=error.hint, **error.details) from error
        except EngineError as error:
            if error.code != EngineError.code:
                raise
            raise IndexCorruptError(error.message, hint=error.hint, **error.details) from error

    def _examine(self, on_progress: CheckCallback, cancelled: CancelToken) -> Examination:
        try:
            store = self._open()
        except IndexCorruptError as error:
            message = f"Found that the file cannot be opened: {error.message}"
            unreadable = Problem(FindingCode.UNREADABLE, message, 1)
            return Examination(
                [unreadable, *leftovers_of(self._file)],
                was_never_filled=isinstance(error.__cause__, ProjectNotFoundError),
            )
        with closing(store):
            found = examine(self._context(store, on_progress, cancelled))
            if not store.is_current():  # nothing is left of what was checked, nor of its logs
                raise gone(self._file)
            return found

    def _repair(
        self,
        found: Examination,
        on_progress: CheckCallback,
        cancelled: CancelToken,
        done: list[str],
    ) -> Rebuilt | None:
        """Repair what was found, and extend what was done; return the file if it was made anew."""
        if not found.is_readable:
            fault_point("repair begun")
            rebuilt = rebuild_file(self._file, self.root, self._config)
            done += _told(rebuilt)
            return rebuilt
        with closing(self._open()) as store:
            try:
                repair_findings(self._context(store, on_progress, cancelled), found, done)
            except IndexCorruptError:
                pass  # the second examination finds the rest, and the file is rebuilt
            except EngineError as error:
                if error.code != EngineError.code:
                    raise
        return None

    def _context(self, store: Store, on_progress: CheckCallback, cancelled: CancelToken) -> Context:
        return Context(
            store=store,
            config=self._config,
            open_embedder=self._open_embedder,
            on_progress=on_progress,
            cancelled=cancelled,
        )

    def _verification(self, found: Examination, started: float) -> Verification:
        path = self._path
        findings: tuple[Finding, ...] = findings_of(found.problems, path)
        verification = Verification(
            project_id=self.project_id,
            path=path,
            ok=not any(finding.severity is Severity.DAMAGE for finding in findings),
            checked=found.checked,
            findings=findings,
            warnings=warnings_of(findings),
            suggested_fixes=fixes_of(findings, path),
            took_ms=_ms_since(started),
            log=None,
        )
        if found.was_never_filled:  # with a log it would count as one that has lost its contents
            return verification
        folder = self._file.parent / "logs" / self.project_id
        log = write_verify_log(folder, verification, size_of(self._file))
        return replace(verification, log=str(log) if log else None)


def _told(rebuilt: Rebuilt) -> list[str]:
    where = f"; the damaged one is kept as {rebuilt.aside.name}" if rebuilt.aside else ""
    lost = [f"Kept {rebuilt.loses}: the others cannot be read"] if rebuilt.loses else []
    return [f"Rebuilt the index file{where}", *lost]


def _kept(rebuilt: Rebuilt | None, after: Verification) -> tuple[str, ...]:
    if rebuilt is None and not after.checked:  # that could not be counted
        return ()
    if rebuilt is None:
        names = ("files", "chunks", "vectors", "jobs")
        return tuple(f"{after.checked.get(name, 0):,} {name}" for name in names)
    return tuple(
        f"{table.replace('_', ' ')}: {number:,}" + (f" of {of:,}" if number < of else "")
        for table, (number, of) in rebuilt.kept.items()
    )


def _has(found: Verification, codes: frozenset[FindingCode]) -> bool:
    return any(finding.code in codes for finding in found.findings)


def _ms_since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)


def _ignore(_progress: CheckProgress) -> None:
    pass
