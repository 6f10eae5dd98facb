"""What all tools and resources work with."""

from dataclasses import dataclass

from engine.catalog import Catalog
from web.mcp.projects import Projects


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The projects, and how this server stands to them."""

    catalog: Catalog
    projects: Projects
    is_runner: bool  # this process runs jobs; else a process of its own does

    def ensure_runner(self) -> None:
        """See to it that a job goes on, also without this server.

        Raises:
            UnavailableError: No process can be started.
        """
        if not self.is_runner:
            self.catalog.jobs.ensure_runner()
