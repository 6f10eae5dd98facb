"""``cairn clear``: empty an index but keep the project and its scope."""

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import Cancelled
from web.cli.options import (
    confirmed,
    examples,
    json_option,
    print_json,
    print_text,
    yes_option,
)
from web.project_selection import check_is_no_name, index_of
from web.terminal import printable
from web.wording import count


@click.command(
    epilog=examples(
        "cairn clear                    then cairn index fills it again",
        "cairn clear ~/src/app --yes",
    )
)
@click.argument("path", required=False)
@yes_option
@json_option
def command(path: str | None, *, yes: bool, as_json: bool) -> None:
    """Delete everything in the index of PATH; keep the project and its scope.

    Your files are not touched.
    """
    with Catalog(load_config()) as catalog:
        if path is not None:
            check_is_no_name(catalog, path, "clear")
        index = index_of(catalog, path, destroys=True)
        status = index.status()
        root, files = printable(status.path), count(status.files, "file")
        if not confirmed(f"Empty the index of {root} ({files})?", yes=yes):
            raise Cancelled("nothing was changed")
        index.clear()
    if as_json:
        print_json({"project_id": status.project_id, "path": status.path, "cleared": True})
    else:
        print_text(f"emptied the index of {root}; run cairn index to fill it again\n")
