"""Contexts: named sets of projects, such as ``work``, which ``context:work`` searches.

They belong to no project, so they are one JSON file of the data directory. It is replaced as a
whole under a lock, so readers need none and no change is lost. A project that is forgotten leaves
all of them; one whose index has gone in another way stays, and is said to be missing.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from engine.atomic_files import changing, replace_file
from engine.did_you_mean import did_you_mean
from engine.errors import (
    ConflictError,
    ContextNotFoundError,
    DamagedIndexError,
    InvalidInputError,
    UnavailableError,
)
from engine.files import read_small
from engine.roots import is_project_id
from engine.state_records import (
    CONTEXT_NAME_RULE,
    MAX_CONTEXT_NAME_CHARS,
    ContextChange,
    ContextProject,
    ProjectContext,
)

FILE_NAME: Final = "contexts.json"
_NAME = re.compile(rf"[^\W_][\w.-]{{0,{MAX_CONTEXT_NAME_CHARS - 1}}}")
_MAX_CONTEXTS = 200
_MAX_BYTES = 16 << 20
_SHOWN_CHARS = 100  # of a name in an error


class _Context(NamedTuple):
    """A context as it is stored."""

    name: str
    paths: dict[str, str]  # of projects, by their ids


_Any = TypeVar("_Any", _Context, ProjectContext)


class Contexts:
    """The contexts of a data directory. For any number of threads and processes.

    Args:
        data_dir: The data directory.
        is_indexed: Returns whether the project of an id exists.
    """

    def __init__(self, data_dir: Path, is_indexed: Callable[[str], bool]) -> None:
        self._file = data_dir / FILE_NAME
        self._is_indexed = is_indexed

    def all(self) -> tuple[ProjectContext, ...]:
        """Return all contexts, ordered by name.

        Raises:
            DamagedIndexError: The file is not as this program writes it.
            UnavailableError: It cannot be read.
        """
        return tuple(map(self._shown, sorted(self._read(), key=lambda each: _key(each.name))))

    def get(self, name: str) -> ProjectContext:
        """Return a context.

        Args:
            name: Its name; case does not matter.

        Raises:
            ContextNotFoundError: There is none; the message has the closest name, the hint all.
            EngineError: As for ``all``.
        """
        return self._shown(_named(self._read(), name))

    def among(self, contexts: Iterable[ProjectContext], name: str) -> ProjectContext:
        """Return a context of those that ``all`` has returned, as ``get`` does.

        Raises:
            ContextNotFoundError: There is none.
        """
        return _named(contexts, name)

    def missing_note(self, name: str) -> str:
        """Return the note on the projects of a context that cannot be searched, or "".

        Raises:
            EngineError: As for ``get``.
        """
        context = self.get(name)
        gone = [each.path for each in context.projects if each.gone]
        if not gone:
            return ""
        verb = "is" if len(gone) == 1 else "are"
        return f"of the context {context.name}, {', '.join(gone)} {verb} no longer indexed"

    def create(self, name: str, projects: Sequence[ContextProject]) -> ProjectContext:
        """Make a context.

        Args:
            name: As ``CONTEXT_NAME_RULE`` says; case is kept.
            projects: At least one.

        Raises:
            InvalidInputError: The name cannot be one, no project is given, or there are too many
                contexts.
            ConflictError: There is a context of this name.
            EngineError: As for ``all``, or it cannot be written.
        """
        new = _Context(_checked_name(name), _checked_projects(projects))
        with self._changing() as contexts:
            _check_is_free(contexts, new.name)
            if len(contexts) >= _MAX_CONTEXTS:
                raise InvalidInputError(
                    f"there are {_MAX_CONTEXTS} contexts already", hint="remove one", field="name"
                )
            contexts.append(new)
        return self._shown(new)

    def change(self, name: str, change: ContextChange) -> ProjectContext:
        """Rename a context, or change its projects; what the change does not name stays.

        Raises:
            ContextNotFoundError: There is none.
            InvalidInputError: The new name cannot be one, or no project would be left.
            ConflictError: Another context has the new name.
            EngineError: As for ``create``.
        """
        with self._changing() as contexts:
            old = _named(contexts, name)
            new_name = old.name
            if change.name is not None:
                new_name = _checked_name(change.name)
                _check_is_free([each for each in contexts if each is not old], new_name)
            before = old.paths if change.projects is None else _paths_of(change.projects)
            after = {**before, **_paths_of(change.add)}
            new = _Context(
                new_name, {each: path for each, path in after.items() if each not in change.drop}
            )
            if not new.paths:
                raise InvalidInputError(
                    f"no project would be left in the context {old.name!r}",
                    hint="keep one, or remove the context",
                    field="projects",
                )
            contexts[contexts.index(old)] = new
        return self._shown(new)

    def remove(self, name: str) -> None:
        """Delete a context; its projects stay.

        Raises:
            ContextNotFoundError: There is none.
            EngineError: As for ``create``.
        """
        with self._changing() as contexts:
            contexts.remove(_named(contexts, name))

    def drop_project(self, project_id: str) -> tuple[str, ...]:
        """Take a project out of all contexts, and return the names of those that had it.

        Raises:
            EngineError: As for ``create``.
        """
        if not any(project_id in each.paths for each in self._read()):
            return ()
        with self._changing() as contexts:
            having = [each for each in contexts if project_id in each.paths]
            for context in having:
                del context.paths[project_id]
        return tuple(sorted((each.name for each in having), key=_key))

    def _shown(self, context: _Context) -> ProjectContext:
        projects = [
            ContextProject(project_id=each, path=path, gone=not self._is_indexed(each))
            for each, path in sorted(context.paths.items(), key=lambda item: item[1])
        ]
        return ProjectContext(name=context.name, projects=tuple(projects))

    def _read(self) -> list[_Context]:
        try:
            stored = read_small(self._file, _MAX_BYTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnavailableError(
                f"the contexts in {self._file} cannot be read: {error.strerror}",
                hint="make it a file that can be read, or move it away",
            ) from error
        try:
            return _parsed(stored)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise DamagedIndexError(
                f"the contexts in {self._file} are damaged",
                hint="delete that file, and make the contexts again",
            ) from error

    @contextmanager
    def _changing(self) -> Iterator[list[_Context]]:
        """Lock the file, hand out its contexts to be changed, and store them."""
        with changing(self._file):
            contexts = self._read()
            yield contexts
            shape = [{"name": each.name, "projects": each.paths} for each in contexts]
            replace_file(self._file, json.dumps({"contexts": shape}, indent=1))


def _parsed(stored: bytes) -> list[_Context]:
    contexts = []
    for each in json.loads(stored)["contexts"]:
        paths = each["projects"]
        is_sound = _NAME.fullmatch(each["name"]) is not None and all(
            is_project_id(project_id) and isinstance(path, str)
            for project_id, path in paths.items()
        )
        if not is_sound:
            raise ValueError
        contexts.append(_Context(each["name"], dict(paths)))
    return contexts


def _named(contexts: Iterable[_Any], name: str) -> _Any:
    known = {_key(each.name): each for each in contexts}
    found = known.get(_key(name))
    if found is not None:
        return found
    names = sorted((each.name for each in known.values()), key=_key)
    shown = name[:_SHOWN_CHARS]
    raise ContextNotFoundError(
        f"no context is named {shown!r}{did_you_mean(shown, names)}",
        hint=f"the contexts are {', '.join(names)}" if names else "there are no contexts yet",
        field="context",
        contexts=names,
    )


def _checked_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise InvalidInputError(
            f"no context can be named {name[:_SHOWN_CHARS]!r}, wanted {CONTEXT_NAME_RULE}",
            field="name",
        )
    return name


def _check_is_free(contexts: Iterable[_Context], name: str) -> None:
    for each in contexts:
        if _key(each.name) == _key(name):
            raise ConflictError(
                f"there is a context named {each.name!r} already",
                hint="choose another name, or change that one",
                field="name",
            )


def _checked_projects(projects: Sequence[ContextProject]) -> dict[str, str]:
    if not projects:
        raise InvalidInputError("a context needs at least one project", field="projects")
    return _paths_of(projects)


def _paths_of(projects: Iterable[ContextProject]) -> dict[str, str]:
    return {each.project_id: each.path for each in projects}


def _key(name: str) -> str:
    return name.casefold()
