"""``cairn implementations``: subtypes and implementations of a type, or what overrides a method."""

from engine.reference_records import Direction, InheritanceRequest
from web.cli.calls import calls_command
from web.cli.options import examples

command = calls_command(
    Direction.IMPLEMENTATIONS,
    request=InheritanceRequest,
    summary="List the subtypes and implementations of NAME; of a method, those that override it.",
    epilog=examples(
        "cairn implementations Reader",
        "cairn implementations Reader --depth 1             direct ones only",
        "cairn implementations Reader.read                  the methods that override it",
        "cairn implementations Reader --format mermaid      a flow chart for Markdown",
    ),
)
