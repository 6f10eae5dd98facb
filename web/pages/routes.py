"""The routes of all pages, and the theme switch for browsers without scripts."""

from typing import Any

from litestar import Request, Response, Router, post
from litestar.di import Provide

from web.pages import (
    commit,
    connect,
    doctor,
    excerpts,
    file,
    find,
    home,
    images,
    jobs,
    meaning,
    memories,
    palette,
    project,
    rendering,
    research,
    search,
    settings,
    status,
    suggest,
    symbol,
    symbols,
    tree,
)
from web.pages.forms import read_form
from web.pages.rendering import THEME_COOKIE, THEMES, Pages, local_address, redirect

_YEAR_S = 31_536_000


@post("/theme", include_in_schema=False, status_code=303)
async def switch_theme(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Store the theme in a cookie, and redirect to the page of the switch."""
    form = await read_form(request)
    answer = redirect(local_address(form.get("back", "/")))
    theme = form.get("theme", "")
    if theme in THEMES:
        answer.set_cookie(THEME_COOKIE, theme, max_age=_YEAR_S, path="/", samesite="strict")
    return answer


def pages_router(pages: Pages) -> Router:
    """Return the router of all pages; a new page is added here."""
    return Router(
        "/",
        route_handlers=[
            rendering.static_file,
            switch_theme,
            home.home,
            home.index_folder,
            home.save_context,
            home.repair_damaged,
            home.remove_unusable,
            home.folders,
            search.search,
            search.markdown,
            research.research,
            research.markdown,
            suggest.suggest,
            excerpts.lines,
            excerpts.preview,
            file.file,
            file.index_file_again,
            file.related,
            images.image,
            tree.tree,
            find.find,
            palette.palette,
            project.project,
            project.folders,
            project.index_again,
            project.forget,
            meaning.meaning_map,
            doctor.doctor,
            doctor.verify,
            doctor.repair,
            doctor.compact,
            doctor.stop,
            doctor.rebuild,
            doctor.export,
            symbol.symbol,
            symbols.symbols,
            commit.commit,
            memories.memories,
            memories.save_memory,
            memories.delete_memory,
            jobs.jobs,
            jobs.job,
            jobs.cancel_job,
            jobs.retry_job,
            status.status,
            connect.connect,
            settings.settings,
            settings.change_setting,
            settings.change_tag_rules,
        ],
        dependencies={"pages": Provide(lambda: pages, sync_to_thread=False, use_cache=True)},
        signature_types=[Pages],
        include_in_schema=False,
    )
