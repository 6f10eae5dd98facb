"""Contexts, which are named sets of projects: list, create, show, change and remove them."""

from typing import Annotated

from litestar import delete, get, patch, post
from litestar.params import PathParameter
from msgspec import Meta, Struct

from engine.project import Project
from engine.record_class import record
from engine.state_records import CONTEXT_NAME_RULE, ContextChange, ProjectContext
from web.api.service import Service
from web.project_selection import as_members, member_ids

_TAGS = ("contexts",)
_ONE = "/contexts/{name:str}"
_MAX_PROJECTS = 1000
_NAME = Meta(
    min_length=1,
    description=f"{CONTEXT_NAME_RULE}; case does not matter",
    examples=["work"],
)
_PROJECTS = Meta(
    max_length=_MAX_PROJECTS,
    description="ids, absolute paths, or names",
    examples=[["/home/me/src/app", "api"]],
)

Name = Annotated[str, PathParameter(description="of the context")]


class NewContext(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A context to create."""

    name: Annotated[str, _NAME]
    projects: Annotated[list[str], _PROJECTS]


class ContextPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a context; null keeps a field."""

    name: Annotated[str, _NAME] | None = None
    projects: Annotated[list[str], _PROJECTS] | None = None
    add: Annotated[list[str], _PROJECTS] = []
    drop: Annotated[list[str], _PROJECTS] = []


@record
class ContextList:
    """All contexts, ordered by name."""

    contexts: tuple[ProjectContext, ...]


@get("/contexts", operation_id="listContexts", summary="All contexts", tags=_TAGS)
async def list_contexts(service: Service) -> ContextList:
    """List the named sets of projects, which `context:NAME` in a query searches."""
    return ContextList(contexts=await service.work(service.catalog.contexts.all))


@post("/contexts", operation_id="createContext", summary="Create a context", tags=_TAGS)
async def create_context(service: Service, data: NewContext) -> ProjectContext:
    """Name a set of projects; 409 if the name is taken."""

    def create() -> ProjectContext:
        members = as_members(_opened(service, data.projects))
        return service.catalog.contexts.create(data.name, members)

    return await service.work(create)


@get(_ONE, operation_id="showContext", summary="A context", tags=_TAGS)
async def show_context(service: Service, name: Name) -> ProjectContext:
    """Return a context."""
    return await service.work(lambda: service.catalog.contexts.get(name))


@patch(_ONE, operation_id="changeContext", summary="Change a context", tags=_TAGS)
async def change_context(service: Service, name: Name, data: ContextPatch) -> ProjectContext:
    """Rename a context, replace its projects, add some, or take some out with `drop`."""

    def change() -> ProjectContext:
        contexts = service.catalog.contexts
        replaced = None if data.projects is None else as_members(_opened(service, data.projects))
        wanted = ContextChange(
            name=data.name,
            projects=replaced,
            add=as_members(_opened(service, data.add)),
            drop=member_ids(contexts.get(name), data.drop),
        )
        return contexts.change(name, wanted)

    return await service.work(change)


@delete(_ONE, operation_id="removeContext", summary="Remove a context", tags=_TAGS)
async def remove_context(service: Service, name: Name) -> None:
    """Remove a context; its projects stay indexed."""
    await service.work(lambda: service.catalog.contexts.remove(name))


def _opened(service: Service, names: list[str]) -> list[Project]:
    return [service.resolve_project(name, by_part=False) for name in names]


HANDLERS = (list_contexts, create_context, show_context, change_context, remove_context)
