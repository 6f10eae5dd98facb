"""Settings: each with its value, origin, default and meaning; the safe ones can be changed."""

from typing import Any

from litestar import Request, Response, get, post

from engine.config import TAGS, Origin
from engine.errors import EngineError
from engine.record_class import record
from engine.settings import GROUPS, SettingState
from engine.tag_rules import TagRule
from web.api.service import Service
from web.api.settings import secrets_of
from web.pages.forms import perform, read_form
from web.pages.rendering import PageRequest, Pages, page, page_request_of
from web.wording import quantity

ORIGINS = {
    Origin.ARGUMENT: "option",
    Origin.ENVIRONMENT: "environment",
    Origin.FILE: "config.toml",
    Origin.DEFAULT: "default",
}


@record
class Refused:
    """A change that was refused."""

    name: str
    value: str
    error: EngineError
    path: str = ""  # of a rule that tags files
    language: str = ""


@get("/settings")
async def settings(
    request: Request[Any, Any, Any], service: Service, pages: Pages, changed: str = ""
) -> Response[bytes]:
    """Render all settings; ``changed`` names the one that was just stored."""
    page_request = page_request_of(request)
    return page(await service.work(lambda: _page(service, pages, page_request, changed=changed)))


@post("/settings", status_code=303)
async def change_setting(
    request: Request[Any, Any, Any], service: Service, pages: Pages
) -> Response[bytes]:
    """Store a setting in ``config.toml``, or remove it from there."""
    form = await read_form(request)
    page_request = page_request_of(request)
    name, value = form.get("name", ""), form.get("value", "")

    def act() -> str:
        service.catalog.settings.change(name, None if "reset" in form else value)
        return f"/settings?changed={name}#setting-{name}"

    def show(error: EngineError) -> bytes:
        refused = Refused(name=name, value=value, error=error)
        return _page(service, pages, page_request, refused=refused)

    return await perform(service, act, show)


@post("/settings/tags", status_code=303)
async def change_tag_rules(
    request: Request[Any, Any, Any], service: Service, pages: Pages
) -> Response[bytes]:
    """Add a rule that tags files to ``config.toml``, or remove one."""
    form = await read_form(request)
    page_request = page_request_of(request)
    path, language, tags = (form.get(name, "") for name in ("path", "language", "tags"))
    is_removed = "remove" in form

    def act() -> str:
        settings = service.catalog.settings
        named = tags.replace(",", " ").split()
        if is_removed:  # the rule as the file has it, outer blanks included
            rule = TagRule(path=path or None, language=language or None, tags=tuple(named))
            settings.remove_tag_rule(rule)
        else:
            settings.add_tag_rule(path.strip(), language.strip(), named)
        return "/settings#group-tags"

    def show(error: EngineError) -> bytes:
        refused = Refused(name=TAGS, value="", error=error)
        if not is_removed:  # what was typed is there again
            refused = Refused(name=TAGS, value=tags, error=error, path=path, language=language)
        return _page(service, pages, page_request, refused=refused)

    return await perform(service, act, show)


def _page(
    service: Service,
    pages: Pages,
    page_request: PageRequest,
    *,
    changed: str = "",
    refused: Refused | None = None,
) -> bytes:
    found: tuple[SettingState, ...] = ()
    tag_rules: tuple[TagRule, ...] = ()
    problem: EngineError | None = None
    try:
        found = service.catalog.settings.all()
        tag_rules = service.catalog.settings.tag_rules()
    except EngineError as error:  # the file is damaged
        problem = error
    context = {
        "groups": [
            (group, [each for each in found if each.group == group]) for group in GROUPS if found
        ],
        "problem": problem,
        "tag_rules": tag_rules,
        "file": str(service.catalog.settings.file),
        "data_dir": str(service.catalog.data_dir),
        "secrets": secrets_of(service),
        "origins": ORIGINS,
        "said": said,
        "changed": next((each for each in found if each.name == changed), None),
        "pending": [each for each in found if each.pending],
        "refused": refused,
        "is_unknown": refused is not None
        and all(refused.name not in (each.name, TAGS) for each in found),
    }
    return pages.html("settings.html", page_request, context)


def said(state: SettingState, value: str) -> str:
    """Format a value of a setting: ``256 MiB`` for bytes, ``none`` if it is empty."""
    is_number = state.minimum is not None and value.lstrip("-").isdigit()
    return (
        quantity(int(value), state.unit) if is_number and state.unit != "port" else value or "none"
    )
