"""The routes of all pages, and what they share."""

from litestar import Router
from litestar.di import Provide

from web.pages import (
    assets,
    doctor,
    excerpts,
    export,
    file,
    find,
    folders,
    home,
    jobs,
    meaning,
    memories,
    project,
    search,
    status,
    suggest,
    symbols,
    theme,
    tree,
)
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
            home.mend,
            home.forget_damaged,
            folders.folders,
            search.search,
            search.markdown,
            suggest.suggest,
            excerpts.lines,
            excerpts.preview,
            file.file,
            file.index_file_again,
            file.related,
            tree.tree,
            find.find,
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
            export.export,
            symbols.symbols,
            memories.memories,
            memories.save_memory,
            memories.delete_memory,
            jobs.jobs,
            jobs.job,
            jobs.cancel_job,
            jobs.retry_job,
            status.status,
        ],
        dependencies={"pages": Provide(lambda: pages, sync_to_thread=False, use_cache=True)},
        signature_types=[Pages],
        include_in_schema=False,
    )
