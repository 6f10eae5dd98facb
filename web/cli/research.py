"""``cairn research``: a question's best passages, by what each is for it."""

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.research_records import ResearchRequest
from web.cli.options import (
    argument_text,
    examples,
    json_option,
    max_tokens_option,
    print_json,
    print_text,
    request_options,
)
from web.project_selection import chosen_roots
from web.research import DEFAULT_BUDGET, research_markdown


@click.command(
    epilog=examples(
        'cairn research "how are sessions refreshed"',
        "cairn research HTTPAdapter --max-tokens 8000",
        'cairn research "how are cookies parsed context:work"',
        'cairn research "retry with backoff" --project ~/a --project ~/b --json',
    )
)
@click.argument("question")
@click.option(
    "--project",
    metavar="PATH",
    multiple=True,
    help="A project's root, a folder in it, or its name (repeatable; default: the one you are in).",
)
@request_options(ResearchRequest)
@max_tokens_option
@json_option
def command(
    question: str,
    *,
    project: tuple[str, ...],
    branch: str | None,
    max_tokens: int | None,
    as_json: bool,
) -> None:
    """Collect the best passages for QUESTION: definitions, uses, tests, documentation.

    It prints Markdown for a person or a prompt, by default of at most 4,000 tokens. QUESTION is
    words or a name, with filters as in "cairn search". Passages that overlap or are equal are
    shown once.
    """
    if as_json and max_tokens is not None:
        raise InvalidInputError("--max-tokens cannot be used with --json", field="max_tokens")
    request = ResearchRequest(query=argument_text(question), branch=branch)
    with Catalog(load_config()) as catalog:
        answer = catalog.research(chosen_roots(catalog, project, request.query), request)
    if as_json:
        print_json(answer)
    else:
        print_text(research_markdown(answer, max_tokens or DEFAULT_BUDGET))
