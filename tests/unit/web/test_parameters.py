"""Every face offers the parameters that the engine's requests declare, and no others."""

import inspect
import json
import warnings
from collections.abc import Collection, Iterator
from dataclasses import MISSING
from typing import Any

import click
import msgspec
import pytest
from litestar.exceptions import LitestarDeprecationWarning

from engine.browse_records import SymbolListRequest
from engine.config import load_config
from engine.cross_project import FILTER_NAMES
from engine.parameters import parameters_of
from engine.reference_records import (
    CallRequest,
    ImpactRequest,
    InheritanceRequest,
    MapRequest,
    ReferenceRequest,
    Use,
)
from engine.search_records import Mode, RelatedRequest, SearchRequest, SymbolRequest
from tests.support.catalogs import open_catalog
from web.api.search import SearchQuestion
from web.app import create_app
from web.cli.calls import bases, callees, callers, implementations
from web.cli.impact import command as impact_command
from web.cli.map import command as map_command
from web.cli.refs import command as refs_command
from web.cli.related import command as related_command
from web.cli.search import command as search_command
from web.cli.symbols import command as symbols_command
from web.mcp.code_map import CodeMap
from web.mcp.impact import FindImpact
from web.mcp.references import FindReferences
from web.mcp.search import FindRelated, FindSymbol, SearchCode
from web.mcp.tool import Parameters, input_schema
from web.pages.search import read_params
from web.parameters import request_from
from web.security.server_settings import ServerSettings

_IN_A_PROJECT = {"project_id", "max_tokens"}
_OF_GRAPHS = {"output", "max_tokens", "project", "as_json"}
#: What the search page sets itself; the other parameters are filters, which people type there.
_SET_BY_THE_PAGE = {"limit", "max_tokens", "context", "explain"}
#: Filters of the query, as flags: a page and agents write them in the query.
_FLAGS = {"tests", "vendored", "generated"}
_NOT_FOR_AGENTS = {"context", "explain", *_FLAGS}


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The OpenAPI description."""
    with open_catalog(load_config(tmp_path_factory.mktemp("home"))) as catalog:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LitestarDeprecationWarning)  # of parameters in paths
            app = create_app(catalog, ServerSettings(host="127.0.0.1", port=0, watches=False))
            found = app.openapi_schema.to_schema()
        yield json.loads(msgspec.json.encode(found))


@pytest.mark.parametrize(
    ("command", "request_type", "own", "without"),
    [
        (search_command, SearchRequest, {"project", "output", "as_json", "batch"}, set()),
        (
            related_command,
            RelatedRequest,
            {"place", "project", "as_json"},
            {"path", "line_start", "line_end"},  # which are the place
        ),
        (symbols_command, SymbolRequest, {"file", "project", "as_json"}, set()),
        (refs_command, ReferenceRequest, _OF_GRAPHS, set()),
        (map_command, MapRequest, _OF_GRAPHS, set()),
        (callers, CallRequest, _OF_GRAPHS, set()),
        (callees, CallRequest, _OF_GRAPHS, set()),
        (
            implementations,
            InheritanceRequest,
            _OF_GRAPHS,
            set(),
        ),
        (bases, InheritanceRequest, _OF_GRAPHS, set()),
        (impact_command, ImpactRequest, _OF_GRAPHS, set()),
    ],
)
def test_a_command_takes_each(
    command: click.Command, request_type: type, own: set[str], without: set[str]
) -> None:
    given = command.make_context("cairn", ["what"]).params
    declared = {each.field: each for each in parameters_of(request_type)}
    assert given.keys() - own == declared.keys() - without
    for option in command.params:
        if option.name in given.keys() - own and not isinstance(option, click.Argument):
            wanted = declared[option.name]
            assert given[option.name] == wanted.default
            choices = option.type.choices if isinstance(option.type, click.Choice) else ()
            assert tuple(choices) == wanted.choices


@pytest.mark.parametrize(
    ("path", "request_type", "own"),
    [
        ("/api/v1/search", SearchRequest, {"project", "cursor"}),
        ("/api/v1/related", RelatedRequest, {"project"}),
        ("/api/v1/symbols", SymbolRequest, {"project"}),
        ("/api/v1/projects/{project_id}/symbols", SymbolListRequest, {"project_id"}),
        (
            "/api/v1/projects/{project_id}/references",
            ReferenceRequest,
            _IN_A_PROJECT,
        ),
        ("/api/v1/projects/{project_id}/map", MapRequest, _IN_A_PROJECT),
        (
            "/api/v1/projects/{project_id}/calls",
            CallRequest,
            {"project_id", "direction", "max_tokens"},
        ),
        ("/api/v1/projects/{project_id}/impact", ImpactRequest, _IN_A_PROJECT),
    ],
)
def test_a_url_takes_each(
    described: dict[str, Any], path: str, request_type: type, own: set[str]
) -> None:
    parameters = {each["name"]: each for each in described["paths"][path]["get"]["parameters"]}
    schemas = {name: each["schema"] for name, each in parameters.items() if name not in own}
    _check(schemas, request_type)
    required = {name for name, each in parameters.items() if each["required"]} - own
    assert required == {e.name for e in parameters_of(request_type) if e.default is MISSING}


def test_a_body_takes_each(described: dict[str, Any]) -> None:
    schema = described["components"]["schemas"][SearchQuestion.__name__]
    own = {"projects", "project", "cursor"}
    _check({n: each for n, each in schema["properties"].items() if n not in own}, SearchRequest)
    assert schema["required"] == ["query"]


@pytest.mark.parametrize(
    ("parameters", "request_type", "own", "without"),
    [
        (SearchCode, SearchRequest, {"project_path", "format", "cursor"}, _NOT_FOR_AGENTS),
        (FindSymbol, SymbolRequest, {"project_path", "max_tokens"}, set()),
        (FindRelated, RelatedRequest, {"project_path", "max_tokens"}, {"line_end", "context"}),
        (
            FindReferences,
            ReferenceRequest,
            {"direction", "depth", "project_path", "max_tokens"},
            {"path", "limit"},
        ),
        (FindImpact, ImpactRequest, {"project_path", "max_tokens"}, {"test_depth", "limit"}),
        (CodeMap, MapRequest, {"project_path", "max_tokens"}, {"limit"}),
    ],
)
def test_agents_may_set_each_but_the_little_used(
    parameters: type[Parameters], request_type: type, own: set[str], without: set[str]
) -> None:
    """Without the bounds that their schemas leave out."""
    schemas = msgspec.json.schema(parameters)["$defs"][parameters.__name__]["properties"]
    sent = input_schema(parameters)["properties"]
    assert sent.keys() == schemas.keys()
    given = {name: _not_null(each) for name, each in schemas.items() if name not in own}
    _check(given, request_type, without=without)
    for name, each in sent.items():
        assert "maxLength" not in each
        assert each.items() >= {n: v for n, v in given.get(name, {}).items() if n == "enum"}.items()


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    [*options] = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return {**schema, **options[0]} if options else schema


def _check(
    schemas: dict[str, dict[str, Any]], request_type: type, *, without: Collection[str] = ()
) -> None:
    declared = {each.name: each for each in parameters_of(request_type)}
    assert schemas.keys() == declared.keys() - set(without)
    for name, schema in schemas.items():
        wanted = declared[name]
        choices = [each for each in schema.get("enum", ()) if each is not None]
        assert sorted(choices) == sorted(wanted.choices)
        least = wanted.parameter.minimum or None  # the framework describes no bound of 0
        assert (schema.get("minimum") or None) == least
        assert schema.get("maximum") == wanted.parameter.maximum
        assert schema.get("maxLength") == wanted.parameter.max_length
        if wanted.default is MISSING or wanted.default in (None, ""):
            assert not schema.get("default")
        else:
            assert schema["default"] == wanted.default


def test_the_page_takes_each_as_a_field_or_as_a_filter() -> None:
    read = inspect.signature(read_params).parameters
    filters = {"language" if name == "lang" else name for name in FILTER_NAMES} | _FLAGS
    declared = {each.field for each in parameters_of(SearchRequest)}
    fields = {"query" if name == "text" else name for name in read}
    assert declared - filters - _SET_BY_THE_PAGE == declared & fields
    assert read["mode"].default == Mode.HYBRID == SearchRequest(query="").mode


def test_decoded_parameters_become_a_request() -> None:
    asked = msgspec.convert(
        {"query": "x", "mode": "regex", "max_tokens": 700, "context": False}, SearchQuestion
    )
    wanted = SearchRequest(query="x", mode=Mode.REGEX, max_tokens=700, context=False)
    assert request_from(SearchRequest, asked) == wanted
    assert request_from(SearchRequest, asked).mode is Mode.REGEX
    uses = msgspec.convert({"name": "x", "use": "call"}, FindReferences)
    assert request_from(ReferenceRequest, uses) == ReferenceRequest(name="x", use=Use.CALL)
    place = msgspec.convert({"path": "a.py", "line": 3}, FindRelated)
    assert request_from(RelatedRequest, place) == RelatedRequest(path="a.py", line_start=3)
