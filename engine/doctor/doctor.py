"""One project's doctor. It needs no index that can be opened: a file and its root are enough.

How a verification is told: findings in words with what helps, and its log.

The log is for people: ``verify-<UTC time>.log`` among those of jobs.
"""

import glob
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from engine.clock import now_ms
from engine.config import Config
from engine.doctor.check import MOST_PLACES, Context, Trouble
from engine.doctor.examination import Examination, examine, mend
from engine.doctor.rebuild import Anew, begin_anew, wipe
from engine.doctor.structure import leftovers_of
from engine.embedding.load import OpenEmbedder
from engine.errors import (
    EngineError,
    IndexCorruptError,
    InvalidPathError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.faults import fault_point
from engine.jobs.operation_log import VERIFIED_SOUND, duration_of, log_block, write_log
from engine.locks import indexing_lock, is_alive
from engine.records import display_path
from engine.state_records import (
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
from engine.store import repair as salvage
from engine.store.connection import Store
from engine.wording import size

_COMMANDS = {
    Remedy.INDEX: "cairn index PATH",
    Remedy.REPAIR: "cairn doctor PATH --repair",
    Remedy.REBUILD: "cairn doctor PATH --rebuild",
}
#: What is no damage.
_NOTES = frozenset({FindingCode.UNPARSED, FindingCode.JOB_WAITS, FindingCode.LEFTOVERS})
#: The order of findings: what makes the others follow comes first.
_ORDER = list(FindingCode)


def _finding_of(trouble: Trouble, path: str) -> Finding:
    """Return a trouble as people and programs see it."""
    code = trouble.code
    severity = Severity.NOTE if trouble.is_note or code in _NOTES else Severity.DAMAGE
    return Finding(
        code=code,
        message=trouble.message,
        count=trouble.number,
        places=trouble.places[:MOST_PLACES],
        severity=severity,
        fix=_command_of(remedy_of(code, severity), path),
    )


def findings_of(troubles: Iterable[Trouble], path: str) -> tuple[Finding, ...]:
    """Return all findings, damage first."""
    found = [_finding_of(trouble, path) for trouble in troubles]
    return tuple(
        sorted(found, key=lambda each: (each.severity is Severity.NOTE, _ORDER.index(each.code)))
    )


def warnings_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the findings as sentences, and what is recommended."""
    sentences = [finding.message for finding in findings]
    damage = [finding for finding in findings if finding.severity is Severity.DAMAGE]
    if damage:
        sentences.append(f"Recommend: run {damage[0].fix}")
    return tuple(sentences)


def fixes_of(findings: Sequence[Finding], path: str) -> tuple[str, ...]:
    """Return the commands that help, the first one first."""
    return tuple(_command_of(remedy, path) for remedy in remedies_of(findings))


def _command_of(remedy: Remedy, path: str) -> str:
    """Return the command of a remedy; whoever reads it fills in a folder that is not known."""
    return _COMMANDS[remedy].replace("PATH", _quoted(path) if path else "PATH")


def _quoted(path: str) -> str:
    safe = path and all(each.isalnum() or each in "/._-+" for each in path)
    return path if safe else "'" + path.replace("'", "'\\''") + "'"


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
    counted = [f"{name.capitalize()}: {n:,}" for name, n in found.checked.items()]
    if counted:
        yield from log_block(at_ms, "Checked", *counted)
    for finding in found.findings:
        title = "DAMAGE" if finding.severity is Severity.DAMAGE else "Note"
        yield from log_block(at_ms, f"{title} {finding.code}", *_told(finding))
    lines = [f"Warnings: {len(found.warnings)}"]
    lines += [f"What to do: {fix}" for fix in found.suggested_fixes]
    lines += [f"Duration: {duration_of(found.took_ms)}", f"Index size: {size(size_bytes)}"]
    end = VERIFIED_SOUND if found.ok else "VERIFY COMPLETE: damaged"
    yield from list(log_block(at_ms, end, *lines))[:-1]


def _told(finding: Finding) -> Iterator[str]:
    yield finding.message
    yield from (f"  {place}" for place in finding.places)
    left = finding.count - len(finding.places)
    if finding.places and left > 0:
        yield f"  and {left:,} more"


#: What the next indexing run brings back: found before, for the repair deletes the rest of it.
_TAKEN_OUT = frozenset({FindingCode.STRAY_ROWS})
#: And found after.
_LEFT_OUT = frozenset({FindingCode.UNPARSED, FindingCode.VECTORS_MISSING})


class Doctor:
    """Checks, mends and copies the index of one project.

    Args:
        file: The database file.
        root: The resolved folder that it indexes; None when nothing tells it, and then there is no
            repair and no rebuilding.
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
            InvalidPathError: The file is damaged, and nothing tells the folder.
        """
        if self._root is None:
            raise InvalidPathError(
                "the damaged file does not say which folder it is of",
                hint="give the project's root",
                field="path",
            )
        return self._root

    @property
    def _path(self) -> str:
        """The root as it is shown; empty when nothing tells it."""
        return "" if self._root is None else display_path(self._root)

    def verify(
        self,
        *,
        on_progress: CheckCallback | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Verification:
        """Look at everything in the index, and write a log of it; nothing is changed.

        Args:
            on_progress: Hears what is looked at, in this thread.
            cancelled: Asked often; when true it stops within a second.

        Raises:
            ProjectNotFoundError: The file is gone.
            IndexTooNewError: A newer version wrote the file.
            UnavailableError: The database is locked, or the disk fails.
            Cancelled: ``cancelled`` said so.
        """
        started = time.monotonic()
        examination = self._examine(on_progress or _ignore, cancelled or _never)
        return self._verification(examination, started)

    def repair(
        self,
        *,
        on_progress: CheckCallback | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Repair:
        """Mend what is damaged and only that, and look again.

        What cannot be mended row by row is made anew, with the jobs and the scope that can be read
        of it, and the damaged file is kept beside it.

        Args:
            on_progress: As for ``verify``.
            cancelled: As for ``verify``; what is mended stays.

        Raises:
            InvalidPathError: Nothing tells which folder is indexed.
            ProjectBusyError: The project is being indexed.
            ProjectNotFoundError: The file is gone.
            IndexTooNewError: A newer version wrote the file.
            UnavailableError: There is no room, the database is locked, or the disk fails.
            Cancelled: ``cancelled`` said so.
        """
        tell, stop = on_progress or _ignore, cancelled or _never
        started, root = time.monotonic(), self.root
        with indexing_lock(self._file):
            found = self._examine(tell, stop)
            before = self._verification(found, started)
            done, anew = self._mend(found, tell, stop)
            looked = time.monotonic()
            left = self._examine(tell, stop)
            after = self._verification(left, looked)
            if not after.ok and anew is None:
                anew = begin_anew(self._file, root, self._config)
                done.append(_kept_rows(anew))
                after = self._verification(self._examine(tell, stop), looked)
        is_lacking = _has(before, _TAKEN_OUT) or _has(after, _LEFT_OUT)
        return Repair(
            project_id=self.project_id,
            path=self._path,
            ok=after.ok,
            done=tuple(done),
            kept=_kept(anew, after),
            needs_index=anew is not None or is_lacking,
            aside=str(anew.aside) if anew and anew.aside else None,
            before=before,
            after=after,
            took_ms=_ms_since(started),
        )

    def compact(self) -> Compaction:
        """Give the space that holds nothing back to the disk.

        Needs room for a second copy meanwhile; nobody else writes as long as it takes.

        Raises:
            ProjectBusyError: The project is being indexed.
            DiskFullError: There is no room for it.
            EngineError: The file is not a sound index.
        """
        started = time.monotonic()
        with indexing_lock(self._file), closing(self._open()) as store:
            before = store.size_bytes()
            store.compact()
            with store.write(bookkeeping=True) as handle:
                salvage.note_look(handle)
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
            _delete_parts(target)
            with closing(self._open()) as store:
                size_bytes = salvage.copy(store, target)
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
        """Empty the index, damaged or not, for the next run to fill; its jobs and scope stay.

        Raises:
            InvalidPathError: Nothing tells which folder is indexed.
            ProjectBusyError: The project is being indexed.
            IndexTooNewError: A newer version wrote the file.
            UnavailableError: There is no room, or the database is locked.
        """
        root = self.root
        with indexing_lock(self._file):
            try:
                store = self._open()
            except IndexCorruptError:
                begin_anew(self._file, root, self._config)
                return
            with closing(store):
                wipe(store, root, self._config)

    def _open(self) -> Store:
        if not self._file.exists():
            raise ProjectNotFoundError(f"{self._path} is not indexed")
        try:
            return Store(self._file, busy_timeout_ms=self._config.busy_timeout)
        except ProjectNotFoundError as error:  # a file of 0 bytes
            raise IndexCorruptError(error.message) from error
        except EngineError as error:
            if error.code != EngineError.code:
                raise
            raise IndexCorruptError(error.message) from error

    def _examine(self, tell: CheckCallback, stop: Callable[[], bool]) -> Examination:
        try:
            store = self._open()
        except IndexCorruptError as error:
            message = f"Found that the file cannot be opened: {error.message}"
            unreadable = Trouble(FindingCode.UNREADABLE, message, 1)
            return Examination([unreadable, *leftovers_of(self._file)])
        with closing(store):
            return examine(self._context(store, tell, stop))

    def _mend(
        self, found: Examination, tell: CheckCallback, stop: Callable[[], bool]
    ) -> tuple[list[str], Anew | None]:
        if not found.is_readable:
            fault_point("repair begun")
            anew = begin_anew(self._file, self.root, self._config)
            return [_kept_rows(anew)], anew
        done: list[str] = []
        with closing(self._open()) as store:
            try:
                mend(self._context(store, tell, stop), found, done)
            except IndexCorruptError:
                pass  # the second look tells what is left, and then all is made anew
            except EngineError as error:
                if error.code != EngineError.code:
                    raise
        return done, None

    def _context(self, store: Store, tell: CheckCallback, stop: Callable[[], bool]) -> Context:
        return Context(
            store=store,
            config=self._config,
            open_embedder=self._open_embedder,
            on_progress=tell,
            cancelled=stop,
        )

    def _verification(self, found: Examination, started: float) -> Verification:
        path = self._path
        findings: tuple[Finding, ...] = findings_of(found.troubles, path)
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
        folder = self._file.parent / "logs" / self.project_id
        log = write_verify_log(folder, verification, _size_of(self._file))
        return replace(verification, log=str(log) if log else None)


def _delete_parts(target: Path) -> None:
    """Delete the beginnings of a copy whose processes have died."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.part-*"):
        number = path.name.rpartition("-")[2]
        if number.isdigit() and not is_alive(int(number)):
            with suppress(OSError):
                path.unlink()


def _kept_rows(anew: Anew) -> str:
    where = f"; the damaged one is kept as {anew.aside.name}" if anew.aside else ""
    return f"Began the index file anew{where}"


def _kept(anew: Anew | None, after: Verification) -> tuple[str, ...]:
    if anew is None:
        names = ("files", "chunks", "vectors", "jobs")
        return tuple(f"{after.checked.get(name, 0):,} {name}" for name in names)
    return tuple(f"{table.replace('_', ' ')}: {number:,}" for table, number in anew.kept.items())


def _has(found: Verification, codes: frozenset[FindingCode]) -> bool:
    return any(finding.code in codes for finding in found.findings)


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _ms_since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)


def _never() -> bool:
    return False


def _ignore(_progress: CheckProgress) -> None:
    pass
