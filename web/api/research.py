"""Research: a question's best passages, by what each is for it, as JSON or Markdown."""

from typing import Annotated

from litestar import Response, get
from msgspec import Meta

from engine.records import MIN_TOKENS
from engine.research_records import ResearchAnswer, ResearchRequest
from engine.search_records import SearchRequest
from web.api.requests import in_query, in_url
from web.api.search import chosen_for
from web.api.service import Service
from web.api.shapes import ProjectsAsked
from web.research import DEFAULT_BUDGET, research_markdown

_TAGS = ("search",)
_BUDGET = Meta(ge=MIN_TOKENS, description="budget for the text: one token per 3.5 bytes")


@get(
    "/research",
    operation_id="research",
    summary="Best passages for a question",
    tags=_TAGS,
    dependencies={"asked": in_url(ResearchRequest)},
)
async def research(
    service: Service, asked: ResearchRequest, project: ProjectsAsked = None
) -> ResearchAnswer:
    """Collect definitions, uses, tests and documents for a question. `project` may be repeated."""
    return await service.executors.search.run(lambda: _answer(service, asked, project or []))


@get(
    "/research/markdown",
    operation_id="researchAsMarkdown",
    summary="Best passages for a question as Markdown",
    tags=_TAGS,
    media_type="text/markdown",
    dependencies={"asked": in_url(ResearchRequest)},
)
async def research_as_markdown(
    service: Service,
    asked: ResearchRequest,
    project: ProjectsAsked = None,
    max_tokens: Annotated[int, in_query(_BUDGET)] = DEFAULT_BUDGET,
) -> Response[str]:
    """Collect them as one text within a budget, as `cairn research` prints it."""

    def ask() -> str:
        return research_markdown(_answer(service, asked, project or []), max_tokens)

    text = await service.executors.search.run(ask)
    return Response(text, media_type="text/markdown")


def _answer(service: Service, asked: ResearchRequest, projects: list[str]) -> ResearchAnswer:
    chosen = chosen_for(service, projects, SearchRequest(query=asked.query))
    return service.research(chosen, asked)


HANDLERS = (research, research_as_markdown)
