"""What was used last, as much of it as fits into a number of bytes."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


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
