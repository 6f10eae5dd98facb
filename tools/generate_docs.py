"""Write the generated parts of the pages in ``docs/`` from the program's own data.

Run as ``make docs``. Markers in a page delimit each part, and everything between them is
replaced::

    <!-- generated: settings -->
    <!-- end of generated -->
"""

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import click
import msgspec

from engine.browse_records import PathExplanation
from engine.catalog import Catalog
from engine.config import SETTINGS, load_config
from engine.doctor_records import Backup, Compaction, Repair, Verification
from engine.evaluation.golden import Evaluation
from engine.history_records import Blame, HistoryAnswer
from engine.index_records import IndexReport
from engine.models import ModelEntry, ModelState, PulledModel, list_models
from engine.reference_records import (
    CallAnswer,
    ImpactAnswer,
    ImportGraph,
    MapAnswer,
    ReferenceAnswer,
    UnusedAnswer,
)
from engine.research_records import ResearchAnswer
from engine.search_records import SearchAnswer, SymbolHit
from engine.settings import SettingList
from engine.state_records import (
    JobEvent,
    JobPage,
    ProjectContext,
    ProjectStatus,
    ProjectSummary,
)
from engine.telemetry.metrics import Measure
from web.app import create_app
from web.cli.main import cairn
from web.mcp.server import make_server
from web.schemas import fields_of
from web.security.server_settings import ServerSettings

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs"

_MARKED = re.compile(
    r"(?P<begin><!-- generated: (?P<part>[a-z-]+) -->\n).*?(?P<end><!-- end of generated -->)",
    re.DOTALL,
)
_HELP_COLUMNS = 88

#: The records that commands print with ``--json``.
_PRINTED = (
    IndexReport,
    SearchAnswer,
    ResearchAnswer,
    SymbolHit,
    ReferenceAnswer,
    CallAnswer,
    ImpactAnswer,
    MapAnswer,
    UnusedAnswer,
    ImportGraph,
    HistoryAnswer,
    Blame,
    ProjectStatus,
    PathExplanation,
    JobPage,
    JobEvent,
    ProjectSummary,
    ProjectContext,
    ModelEntry,
    ModelState,
    PulledModel,
    SettingList,
    Verification,
    Repair,
    Backup,
    Compaction,
    Evaluation,
)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; line breaks and bars in cells are escaped."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _code(*names: str) -> str:
    return ", ".join(f"`{name}`" for name in names)


def settings() -> str:
    """Return the table of settings."""
    rows = ((_code(s.name), str(s.default) or "–", s.unit, s.help) for s in SETTINGS)
    return table(("setting", "default", "unit", "meaning"), rows)


def metrics() -> str:
    """Return the table of metrics."""
    rows = (
        (_code(m.shown_name), str(m.kind), _code(*m.labels) or "–", str(m.scope), m.help)
        for m in Measure
    )
    return table(("metric", "kind", "labels", "counts", "meaning"), rows)


def models() -> str:
    """Return the table of the models that can be chosen by name, without those of servers."""
    with tempfile.TemporaryDirectory() as folder:
        entries = list_models(load_config(Path(folder), model="static"))
    rows = (
        (
            _code(entry.model),
            str(entry.dimension),
            f"{entry.size_bytes / 1e6:,.0f} MB" if entry.size_bytes else "–",
            entry.licence,
        )
        for entry in entries
        if entry.dimension
    )
    return table(("model", "dimensions", "download", "licence"), rows)


def commands() -> str:
    """Return the help of every command, in the order of ``cairn --help``."""
    return "\n".join(
        f"### {name}\n\n```text\n{help_text}\n```\n" for name, help_text in _help_pages()
    )


def _help_pages() -> Iterator[tuple[str, str]]:
    waiting: list[tuple[click.Command, click.Context | None, str]] = [(cairn, None, "cairn")]
    while waiting:
        command, parent, name = waiting.pop(0)
        context = click.Context(
            command,
            parent=parent,
            info_name=name,
            terminal_width=_HELP_COLUMNS,
            **(cairn.context_settings if parent is None else {}),
        )
        page = "\n".join(map(str.rstrip, command.get_help(context).splitlines()))
        yield context.command_path, page
        if isinstance(command, click.Group):
            names = command.list_commands(context)
            found = ((each, command.get_command(context, each)) for each in names)
            waiting[:0] = [(each, context, name) for name, each in found if each is not None]


def records() -> str:
    """Return the table of the records that commands print as JSON, each before its nested ones."""
    waiting: list[type] = list(_PRINTED)
    rows = {}
    while waiting:
        record = waiting.pop(0)
        if record.__name__ in rows:
            continue
        known = get_type_hints(record)
        hints = {name: known[name] for name, _ in fields_of(record)}
        parts = {name: _records_in(hint) for name, hint in hints.items()}
        waiting[:0] = [each for found in parts.values() for each in found]
        rows[record.__name__] = ", ".join(
            f"`{name}{_sign(hint)}`" + "".join(f" ({each.__name__})" for each in parts[name])
            for name, hint in hints.items()
        )
    return table(("record", "keys"), ((_code(name), keys) for name, keys in rows.items()))


def _records_in(hint: object) -> list[type]:
    inner = [each for part in get_args(hint) for each in _records_in(part)]
    return [hint, *inner] if isinstance(hint, type) and is_dataclass(hint) else inner


def _sign(hint: object) -> str:
    for kind in (hint, *get_args(hint)):
        origin = get_origin(kind)
        if origin is tuple:
            return "[]"
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return "{}"
    return ""


def http_operations() -> str:
    """Return the table of operations of the HTTP API."""
    described = _described()
    rows = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            rows.append(
                (
                    _code(f"{method.upper()} {path}"),
                    f"**{operation['summary']}.** {operation['description']}",
                    _parameters(operation, described),
                    _answer(operation),
                )
            )
    return table(("request", "does", "parameters", "answer"), rows)


def _parameters(operation: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    named = [
        (each["name"], each.get("required", False))
        for each in operation.get("parameters", ())
        if each["in"] != "path"
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        schema = described["components"]["schemas"][_name_of(body["schema"])]
        required = schema.get("required", ())
        named += [(name, name in required) for name in schema["properties"]]
    return ", ".join(f"**`{name}`**" if needed else f"`{name}`" for name, needed in named) or "–"


def _answer(operation: Mapping[str, Any]) -> str:
    found: dict[str, list[str]] = {}
    for status, response in operation["responses"].items():
        if status < "300":
            [content] = list(response.get("content", {"": {}}).values())
            name = _name_of(content.get("schema", {}))
            found.setdefault(f" [`{name}`](#answers)" if name else "", []).append(status)
    return "; ".join(f"{', '.join(statuses)}{name}" for name, statuses in found.items())


def _name_of(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def http_answers() -> str:
    """Return the table of the keys of each object in the HTTP API."""
    schemas = _described()["components"]["schemas"]
    rows = (
        (_code(name), ", ".join(_key(key, value) for key, value in schema["properties"].items()))
        for name, schema in schemas.items()
    )
    return table(("object", "keys"), rows)


def _key(name: str, schema: Mapping[str, Any]) -> str:
    choices = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    kinds = {str(each.get("type")) for each in choices}
    sign = "[]" if "array" in kinds else "{}" if "object" in kinds else ""
    holders = [each.get("items", each) for each in choices]
    inner = next(filter(None, map(_name_of, holders)), "")
    return f"`{name}{sign}`" + (f" ({inner})" if inner else "")


def _described() -> dict[str, Any]:
    """Return the OpenAPI description as the server returns it."""
    with _catalog() as catalog:
        app = create_app(catalog, ServerSettings(host="127.0.0.1", port=0, watches=False))
        described: dict[str, Any] = json.loads(msgspec.json.encode(app.openapi_schema.to_schema()))
    return described


def mcp_tools() -> str:
    """Return the table of MCP tools."""
    with _catalog() as catalog:
        tools = asyncio.run(make_server(catalog, is_runner=True).list_tools())
    rows = ((_code(t.name), t.description or "", _taken(t.input_schema)) for t in tools)
    return table(("tool", "description, as agents read it", "parameters"), rows)


def _taken(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    return ", ".join(
        f"**`{name}`**" if name in required else f"`{name}{_default(each)}`"
        for name, each in schema["properties"].items()
    )


def _default(schema: Mapping[str, Any]) -> str:
    return f"={json.dumps(schema['default']).strip(chr(34))}" if "default" in schema else ""


def mcp_resources() -> str:
    """Return the table of MCP resources."""
    with _catalog() as catalog:
        server = make_server(catalog, is_runner=True)
        templates = asyncio.run(server.list_resource_templates())
    rows = ((_code(each.uri_template), each.title or "") for each in templates)
    return table(("resource", "content"), rows)


@contextmanager
def _catalog() -> Iterator[Catalog]:
    """Open the catalog of an empty data directory."""
    with tempfile.TemporaryDirectory() as folder, Catalog(load_config(Path(folder))) as catalog:
        yield catalog


#: The parts that a page can contain, by the name in their marker.
PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "http-answers": http_answers,
    "http-operations": http_operations,
    "mcp-resources": mcp_resources,
    "mcp-tools": mcp_tools,
    "metrics": metrics,
    "models": models,
    "records": records,
    "settings": settings,
}


def renewed(page: str) -> str:
    """Return the text of a page with its generated parts updated.

    Raises:
        KeyError: The page has a marker for an unknown part.
    """
    return _MARKED.sub(
        lambda found: f"{found['begin']}\n{PARTS[found['part']]()}\n{found['end']}", page
    )


def main() -> int:
    """Write each stale page, or with ``--check`` only name it; return the exit code."""
    checks_only = sys.argv[1:] == ["--check"]
    stale = False
    for path in sorted(PAGES.glob("*.md")):
        before = path.read_text("utf-8")
        after = renewed(before)
        if after != before:
            stale = True
            sys.stdout.write(f"{path.relative_to(PAGES.parent)}\n")
            if not checks_only:
                path.write_text(after, "utf-8")
    return 1 if checks_only and stale else 0


if __name__ == "__main__":
    sys.exit(main())
