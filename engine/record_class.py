"""``@record``: a frozen dataclass whose methods are made when they are used.

``dataclass(frozen=True, slots=True, kw_only=True)`` compiles six methods for each class, 0.5 ms
whenever a program starts. A command imports dozens of such classes and makes records of a few: here
only ``__init__`` is compiled, with the first record, and all classes share the other methods. The
functions of ``dataclasses`` work as with any dataclass.

Every class of frozen values that are given by name is a record, here and in ``web``; one that needs
a weak reference, or methods of its own in the place of these, stays a dataclass.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from itertools import repeat
from operator import attrgetter
from typing import Any, Final, NoReturn, TypeVar, dataclass_transform

_T = TypeVar("_T")

_NOT_GIVEN: Final = object()
_set: Final = object.__setattr__
_SHARED: Final = (
    "__init__",
    "__repr__",
    "__eq__",
    "__hash__",
    "__setattr__",
    "__delattr__",
    "__reduce__",
)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def record(cls: type[_T]) -> type[_T]:
    """Make a class a frozen dataclass with slots, whose fields are given by name.

    Raises:
        TypeError: The class defines a method that would be replaced, or never called.
    """
    lost = [name for name in _SHARED if name in cls.__dict__]
    if hasattr(cls, "__post_init__"):
        lost.append("__post_init__")
    if lost:
        raise TypeError(f"the record {cls.__qualname__} cannot define {', '.join(lost)}")
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(cls)
    names = [each.name for each in fields(made) if each.compare]
    made._values = attrgetter(*names) if names else type  # noqa: SLF001
    made.__init__ = _first_init_of(made)
    made.__repr__, made.__eq__, made.__hash__ = _repr, _eq, _hash
    made.__setattr__, made.__delattr__, made.__reduce__ = _setattr, _delattr, _reduce
    found: type[_T] = made
    return found


def replaced(made: _T, **changes: object) -> _T:
    """Return a copy of a record with some fields changed, in a third of the time of ``replace``.

    Raises:
        TypeError: It has no such field.
    """
    kind: Any = type(made)
    names, values_of = _fields_of(kind)
    copy: _T = object.__new__(kind)
    for _ in map(_set, repeat(copy), names, values_of(made)):  # in C, as most of the time is here
        pass
    for name, value in changes.items():
        if name not in names:
            raise TypeError(f"{kind.__qualname__} has no field {name!r}")
        _set(copy, name, value)
    return copy


@cache
def _fields_of(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[object, ...]]]:
    """Return the names of fields, and a function that returns their values."""
    names = tuple(each.name for each in fields(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda made: tuple(getattr(made, name) for name in names)


def _first_init_of(kind: Any) -> Any:
    """Return an ``__init__`` that makes the one of a class, which takes its place, and calls it."""

    def first_init(self: Any, **values: object) -> None:
        kind.__init__ = _init_of(kind)  # several threads may come here at once
        kind.__init__(self, **values)

    return first_init


def _init_of(kind: Any) -> Any:
    """Return a function that sets the fields of a record to its arguments, or their defaults."""
    scope: dict[str, Any] = {"_set": _set, "_NOT_GIVEN": _NOT_GIVEN}
    parameters, lines = [], []
    for each in fields(kind):
        name = value = parameter = each.name
        if each.default_factory is not MISSING:
            scope[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _NOT_GIVEN else {name}"
            parameter = f"{name}=_NOT_GIVEN"
        elif each.default is not MISSING:
            scope[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
        parameters.append(parameter)
        lines.append(f"\n    _set(self, {name!r}, {value})")
    named = ", *, " if parameters else ""
    code = f"def __init__(self{named}{', '.join(parameters)}):{''.join(lines) or ' pass'}"
    exec(code, scope)  # noqa: S102 - of the names in our own source
    init = scope["__init__"]
    init.__qualname__ = f"{kind.__qualname__}.__init__"
    return init


def _repr(self: Any) -> str:
    shown = (each.name for each in fields(self) if each.repr)
    values = (f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return self._values(self) == self._values(other)


def _hash(self: Any) -> int:
    return hash(self._values(self))


def _setattr(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduce(self: Any) -> tuple[object, ...]:
    return _remade, (type(self), {each.name: getattr(self, each.name) for each in fields(self)})


def _remade(kind: Any, values: dict[str, object]) -> object:
    return kind(**values)
