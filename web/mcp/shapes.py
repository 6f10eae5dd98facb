"""JSON schemas, as small as they can be: an agent reads all of them before its first question."""

from typing import Any

import msgspec

Shape = dict[str, Any]

_SHORT: dict[str, Shape] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "yes_no": {"type": "boolean"},
    "record": {"type": "object"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "records": {"type": "array", "items": {"type": "object"}},
}


def record(**fields: str | Shape) -> Shape:
    """Give the schema of what a tool answers.

    Args:
        fields: Of each a schema, or the name of a short one (``text``, ``integer``, ``number``,
            ``yes_no``, ``record``, ``texts``, ``records``); with ``|null`` it can be null, with
            ``?`` it can be left out.
    """
    required = [name for name, each in fields.items() if not str(each).endswith("?")]
    return {**part(**fields), "required": required}


def part(**fields: str | Shape) -> Shape:
    """Give the schema of an object inside of an answer; which fields it has always goes unsaid."""
    shapes = {name: shape_of(each) for name, each in fields.items()}
    return {"type": "object", "properties": shapes}


def list_of(item: Shape) -> Shape:
    """Give the schema of a list."""
    return {"type": "array", "items": item}


def shape_of(said: str | Shape) -> Shape:
    """Give a schema by its short name."""
    if not isinstance(said, str):
        return said
    name = said.removesuffix("?")
    shape = _SHORT[name.removesuffix("|null")]
    return {**shape, "type": [shape["type"], "null"]} if name.endswith("|null") else shape


def input_shape(takes: type[msgspec.Struct]) -> Shape:
    """Give the schema of a tool's parameters, without what says nothing.

    That a parameter may be null goes unsaid: it is the same as leaving it out.
    """
    name = takes.__name__
    shape: Shape = msgspec.json.schema(takes)["$defs"][name]
    properties = {field: _plain(each) for field, each in shape["properties"].items()}
    required = {"required": shape["required"]} if shape.get("required") else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _plain(shape: Shape) -> Shape:
    kinds = shape.get("anyOf")
    if kinds:
        [kind] = [each for each in kinds if each != {"type": "null"}]
        shape = {**shape, **kind}
        del shape["anyOf"]
    if shape.get("default", ...) is None:
        shape = {name: value for name, value in shape.items() if name != "default"}
    if "enum" in shape:
        shape = {"type": "string", **shape}
    return shape
