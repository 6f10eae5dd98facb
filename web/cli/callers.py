"""``cairn callers``: the functions that call one."""

from engine.reference_records import Direction
from web.cli.calls import calls_command
from web.cli.options import examples

command = calls_command(
    Direction.CALLERS,
    summary="List the functions that call NAME, directly or through others.",
    epilog=examples(
        "cairn callers parse_config",
        "cairn callers Session.refresh --depth 3            also callers of callers",
        "cairn callers parse_config --format mermaid        a flow chart for Markdown",
        "cairn callers parse_config --format dot | dot -Tsvg -o calls.svg",
    ),
)
