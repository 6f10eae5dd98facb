"""What was made of an index lately, while it holds.

What was used last, as much of it as fits into a number of bytes.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")
_Key = tuple[object, ...]
_State = int | None


class Kept(Generic[Value]):
    """A few values by what they were made of. For any number of threads; one is made at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[_Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key, make: Callable[[], Value]) -> Value:
        """Give what was made for a key, made now if it was not."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
            self._values.move_to_end(key)
            return self._values[key]


class _Made(NamedTuple, Generic[Value]):
    state: _State
    value: Value
    size_bytes: int


class _Making(Generic[Value]):
    """A value that is being made, for all who want it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted_by = 0


class KeptBytes(Generic[Value]):
    """The last values by what they are of, each of its latest state; so many bytes in all.

    For any number of threads, of which one makes a value that several want. One value is kept
    however large it is: to make it anew for each question would cost more than its memory.

    Args:
        most: How many bytes.
        size_of: Says how many a value takes.
    """

    def __init__(self, most: int, size_of: Callable[[Value], int]) -> None:
        self._most = most
        self._size_of = size_of
        self._values: OrderedDict[_Key, _Made[Value]] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()
        self._making: dict[_Key, _Making[Value]] = {}

    @property
    def size_bytes(self) -> int:
        """How much is kept."""
        return self._held

    def get(self, key: _Key, make: Callable[[], Value], *, state: _State = None) -> Value:
        """Give what was made for a key in this state, made now if it was not."""
        with self._lock:
            kept = self._find(key, state)
            if kept is not None:
                return kept.value
            making = self._making.setdefault(key, _Making())
            making.wanted_by += 1
        try:
            with making.lock:
                return self._made(key, state, make)
        finally:
            with self._lock:
                making.wanted_by -= 1
                if not making.wanted_by:
                    del self._making[key]

    def _made(self, key: _Key, state: _State, make: Callable[[], Value]) -> Value:
        with self._lock:
            kept = self._find(key, state)
        if kept is not None:
            return kept.value
        value = make()
        made = _Made(state, value, self._size_of(value))
        with self._lock:
            self._drop(key)
            self._values[key] = made
            self._held += made.size_bytes
            while self._held > self._most and len(self._values) > 1:
                self._drop(next(iter(self._values)))
        return value

    def _find(self, key: _Key, state: _State) -> _Made[Value] | None:
        kept = self._values.get(key)
        if kept is None or kept.state != state:
            return None
        self._values.move_to_end(key)
        return kept

    def _drop(self, key: _Key) -> None:
        if key in self._values:
            self._held -= self._values.pop(key).size_bytes


Key = TypeVar("Key", bound=Hashable)


class Recent(Generic[Key, Value]):
    """Values by key, those used least recently dropped first. For any number of threads.

    Args:
        max_bytes: How much is kept; a single larger value is not.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self.size_bytes = 0

    def get(self, key: Key) -> Value | None:
        """Give a value, None when it is not kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Value, size_bytes: int) -> None:
        """Keep a value that takes so many bytes."""
        if size_bytes > self._max_bytes:
            return
        with self._lock:
            known = self._kept.pop(key, None)
            self.size_bytes += size_bytes - (known[1] if known else 0)
            self._kept[key] = (value, size_bytes)
            while self.size_bytes > self._max_bytes:
                _, (_, dropped) = self._kept.popitem(last=False)
                self.size_bytes -= dropped
