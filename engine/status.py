"""How one project stands: what its index holds, its jobs and its watcher."""

from engine.checkout import Checkout
from engine.clock import iso_or_none
from engine.jobs.view import jobs_that_matter
from engine.records import ProjectSummary, display_path
from engine.search.searcher import Searcher
from engine.status_records import ProjectStatus
from engine.store import files, project, skips
from engine.store.models import read_current_model
from engine.watch_board import watch_status_of


def status_of(checkout: Checkout, searcher: Searcher) -> ProjectStatus:
    """Describe a project.

    Args:
        checkout: The project.
        searcher: Remembers what was counted of it.

    Raises:
        ProjectNotFoundError: It is not indexed.
    """
    store, root = checkout.store, checkout.root
    with checkout.read() as (handle, branch):
        row = project.known_project(handle, root)
        contents = searcher.contents(handle, branch)
        model = read_current_model(handle)
        return ProjectStatus(
            project_id=store.path.stem,
            path=display_path(root),
            branch=branch.name,
            files=files.count_files(handle, branch.id),
            symbols=contents.symbols,
            chunks=contents.chunks,
            embeddings=contents.embeddings,
            skips=skips.count_skips(handle, branch.id),
            coverage=searcher.coverage(handle, branch),
            model=model.name if model else None,
            fingerprint=row.fingerprint or "",
            size_bytes=store.size_bytes(),
            last_indexed_at=iso_or_none(branch.indexed_at_ms),
            jobs=jobs_that_matter(handle, store.path.stem, root),
            watch=watch_status_of(store.path),
        )


def summary_of(checkout: Checkout) -> ProjectSummary:
    """Describe a project in short."""
    with checkout.read() as (handle, branch):
        return ProjectSummary(
            project_id=checkout.store.path.stem,
            path=display_path(checkout.root),
            files=files.count_files(handle, branch.id),
            size_bytes=checkout.store.size_bytes(),
            last_indexed_at=iso_or_none(branch.indexed_at_ms),
        )
