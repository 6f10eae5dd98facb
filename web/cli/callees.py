"""``cairn callees``: the functions of the project that one calls."""

from engine.reference_records import Direction
from web.cli.calls import calls_command
from web.cli.options import examples

command = calls_command(
    Direction.CALLEES,
    summary="List the functions of the project that NAME calls, directly or through others.",
    epilog=examples(
        "cairn callees main",
        "cairn callees Session.refresh --depth 3      also what these call",
        "cairn callees main --format mermaid          a flow chart for Markdown",
    ),
)
