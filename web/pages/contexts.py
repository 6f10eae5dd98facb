"""Contexts on the home page: the links that choose one, and the form that makes or changes one.

The form sends which projects were chosen when it was shown, so that saving it changes only what its
reader changed, and nothing that was added meanwhile is lost.
"""

from collections.abc import Collection, Iterable, Mapping
from urllib.parse import urlencode

from engine.catalog import Catalog
from engine.errors import EngineError
from engine.record_class import record
from engine.state_records import ContextChange, ContextProject, ProjectContext

MAX_FIELDS = 2000  # of the form: a project has one
_CHOSEN = "project-"  # begins the name of a box, which ends with the id of its project
_REMOVES = "remove"


@record
class ContextForm:
    """What the form holds."""

    old_name: str = ""  # empty: it makes a new context
    name: str = ""
    chosen: frozenset[str] = frozenset()  # ids of projects
    was: frozenset[str] = frozenset()  # those chosen when it was first shown
    removes: bool = False
    error: EngineError | None = None

    @property
    def is_name_wrong(self) -> bool:
        """Whether it failed because of the name."""
        return self.error is not None and self.error.details.get("field") == "name"


@record
class Contexts:
    """What the page shows of contexts."""

    name: str  # in the address; empty: all projects
    all: tuple[ProjectContext, ...] = ()
    current: ProjectContext | None = None
    error: EngineError | None = None  # of reading them, or of the name in the address
    form: ContextForm = ContextForm()

    @property
    def missing(self) -> tuple[ContextProject, ...]:
        """Those projects of the current one that are not indexed any more."""
        projects = self.current.projects if self.current else ()
        return tuple(each for each in projects if each.gone)

    def holds(self, project_id: str) -> bool:
        """Return whether a project is shown: all are, unless a context is chosen."""
        if self.current is None:
            return not self.name
        return any(each.project_id == project_id for each in self.current.projects)


def contexts_for(catalog: Catalog, name: str, form: ContextForm | None) -> Contexts:
    """Return what the home page shows of contexts.

    Args:
        catalog: The projects.
        name: The context in the address; empty for all projects.
        form: What was sent and could not be saved; None: as the contexts are.
    """
    found: tuple[ProjectContext, ...] = ()
    current = error = None
    try:
        found = catalog.contexts.all()
        current = catalog.contexts.among(found, name) if name else None
    except EngineError as failure:
        error = failure
    return Contexts(
        name=name, all=found, current=current, error=error, form=form or _form_of(current)
    )


def _form_of(context: ProjectContext | None) -> ContextForm:
    if context is None:
        return ContextForm()
    ids = frozenset(each.project_id for each in context.projects)
    return ContextForm(old_name=context.name, name=context.name, chosen=ids, was=ids)


def read_context_form(fields: Mapping[str, str]) -> ContextForm:
    """Return what a form holds that was sent."""
    return ContextForm(
        old_name=fields.get("old", ""),
        name=fields.get("name", "").strip(),
        chosen=frozenset(name.removeprefix(_CHOSEN) for name in fields if name.startswith(_CHOSEN)),
        was=frozenset(fields.get("was", "").split()),
        removes=fields.get("act") == _REMOVES,
    )


def save(catalog: Catalog, form: ContextForm) -> str:
    """Do what a form says, and return the address of the home page that shows it.

    Raises:
        EngineError: As for the contexts of a catalog.
    """
    contexts = catalog.contexts
    if form.removes:
        contexts.remove(form.old_name)
        return "/"
    added = _members(catalog, form.chosen - form.was)
    if form.old_name:
        change = ContextChange(name=form.name, add=added, drop=tuple(form.was - form.chosen))
        saved = contexts.change(form.old_name, change)
    else:
        saved = contexts.create(form.name, added)
    return f"/?{urlencode({'context': saved.name})}"


def _members(catalog: Catalog, ids: Collection[str]) -> tuple[ContextProject, ...]:
    """Return the projects of ids; those that are gone are left out."""
    if not ids:  # the projects need not be opened
        return ()
    found: Iterable[ContextProject] = (
        ContextProject(project_id=each.project_id, path=each.path) for each in catalog.projects()
    )
    return tuple(each for each in found if each.project_id in ids)
