"""The routes of all pages, and what they share."""

from litestar import Router
from litestar.di import Provide

from web.pages import assets, file, folders, home, jobs, project, search, theme
from web.pages.rendering import Pages


def pages_router(pages: Pages) -> Router:
    """Give all pages; a new one is added here."""
    return Router(
        "/",
        route_handlers=[
            assets.static_file,
            theme.switch_theme,
            home.home,
            home.index_folder,
            folders.folders,
            search.search,
            search.markdown,
            file.file,
            file.related,
            project.project,
            project.index_again,
            project.forget,
            jobs.jobs,
            jobs.job,
            jobs.cancel_job,
            jobs.retry_job,
        ],
        dependencies={"pages": Provide(lambda: pages, sync_to_thread=False, use_cache=True)},
        signature_types=[Pages],
        include_in_schema=False,
    )
