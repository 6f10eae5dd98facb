"""``cairn bases``: the bases of a type, or what a method overrides."""

from engine.reference_records import Direction, InheritanceRequest
from web.cli.calls import calls_command
from web.cli.options import examples

command = calls_command(
    Direction.BASES,
    request=InheritanceRequest,
    summary="List the bases of NAME, and theirs; of a method, those that it overrides.",
    epilog=examples(
        "cairn bases FileReader",
        "cairn bases FileReader.read                        the methods that it overrides",
        "cairn bases FileReader --format dot | dot -Tsvg -o bases.svg",
    ),
)
