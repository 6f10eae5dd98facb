"""Shapes of JSON: which keys there are, and of what types their values."""

from typing import Any

#: A type, one of several, ``[shape]`` for a list of such, or keys; a key with ``?`` may be missing.
Shape = type | tuple[type, ...] | list[Any] | dict[str, Any]

_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
}


def differences(value: object, shape: Shape, place: str = "") -> list[str]:
    """Say where a value is not of a shape: a key too much or too few, or another type."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{place}: {value!r} is no object"]
        known = {name.rstrip("?"): kind for name, kind in shape.items()}
        wanted = {name for name in shape if not name.endswith("?")}
        found = [f"{place}.{name} is too much" for name in value.keys() - known.keys()]
        found += [f"{place}.{name} is missing" for name in wanted - value.keys()]
        for name in value.keys() & known.keys():
            found += differences(value[name], known[name], f"{place}.{name}")
        return found
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{place}: {value!r} is no list"]
        return [each for one in value for each in differences(one, shape[0], f"{place}[]")]
    kinds = shape if isinstance(shape, tuple) else (shape,)
    if (isinstance(value, bool) and bool not in kinds) or not isinstance(value, kinds):
        return [f"{place}: {value!r} is not {shape}"]
    return []


def shape_of_schema(schema: dict[str, Any]) -> Shape:
    """Give the shape that a JSON schema describes; what is not required may be missing."""
    if schema["type"] == "array":
        return [shape_of_schema(schema["items"])]
    if schema["type"] != "object" or "properties" not in schema:
        return _TYPES[schema["type"]]
    required = schema.get("required", ())
    return {
        name if name in required else f"{name}?": shape_of_schema(each)
        for name, each in schema["properties"].items()
    }
