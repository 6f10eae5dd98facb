"""In-memory caches for any number of threads, bounded by entries or by bytes.

All evict the least recently used value first. ``EntryCache`` and ``ByteCache`` compute missing
values, once even if several threads want one; ``LruCache`` is filled by its caller.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from cachetools import LRUCache

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_Key = tuple[object, ...]
_State = int | None


class EntryCache(Generic[Value]):
    """A cache of a few values, which makes those that it lacks, one at a time.

    Args:
        max_entries: How many values are cached.
    """

    def __init__(self, max_entries: int) -> None:
        self._values: LRUCache[_Key, Value] = LRUCache(max_entries)
        self._lock = threading.Lock()

    def get(self, key: _Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key, making it if it is not cached."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            return self._values[key]


class _Entry(NamedTuple, Generic[Value]):
    state: _State
    value: Value
    size_bytes: int


class _KeyLock:
    """A lock for the threads that want the value of one key."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiters = 0


class ByteCache(Generic[Value]):
    """A cache with one value per key, that of its latest state, which makes what it lacks.

    If several threads want the same value, one of them makes it. One value is cached however large
    it is: making it again for each question would cost more than its memory.

    Args:
        max_bytes: How much is cached.
        size_of: Returns the size of a value in bytes.
    """

    def __init__(self, max_bytes: int, size_of: Callable[[Value], int]) -> None:
        self._max_bytes = max_bytes
        self._size_of = size_of
        self._entries: OrderedDict[_Key, _Entry[Value]] = OrderedDict()
        self._size_bytes = 0
        self._lock = threading.Lock()
        self._key_locks: dict[_Key, _KeyLock] = {}
        #: When a value was last asked for, on the monotonic clock; 0 if none was.
        self.used_s = 0.0

    @property
    def size_bytes(self) -> int:
        """The size of the cached values."""
        return self._size_bytes

    def clear(self) -> None:
        """Drop all."""
        with self._lock:
            self._entries.clear()
            self._size_bytes = 0

    def get(self, key: _Key, make: Callable[[], Value], *, state: _State = None) -> Value:
        """Return the value of a key in this state, making it if it is not cached."""
        self.used_s = time.monotonic()
        with self._lock:
            entry = self._find(key, state)
            if entry is not None:
                return entry.value
            key_lock = self._key_locks.setdefault(key, _KeyLock())
            key_lock.waiters += 1
        try:
            with key_lock.lock:
                return self._find_or_make(key, state, make)
        finally:
            with self._lock:
                key_lock.waiters -= 1
                if not key_lock.waiters:
                    del self._key_locks[key]

    def _find_or_make(self, key: _Key, state: _State, make: Callable[[], Value]) -> Value:
        with self._lock:
            entry = self._find(key, state)
        if entry is not None:
            return entry.value
        value = make()
        entry = _Entry(state, value, self._size_of(value))
        with self._lock:
            self._evict(key)
            self._entries[key] = entry
            self._size_bytes += entry.size_bytes
            while self._size_bytes > self._max_bytes and len(self._entries) > 1:
                self._evict(next(iter(self._entries)))
        return value

    def _find(self, key: _Key, state: _State) -> _Entry[Value] | None:
        entry = self._entries.get(key)
        if entry is None or entry.state != state:
            return None
        self._entries.move_to_end(key)
        return entry

    def _evict(self, key: _Key) -> None:
        if key in self._entries:
            self._size_bytes -= self._entries.pop(key).size_bytes


class LruCache(Generic[Key, Value]):
    """A cache of values whose sizes the caller knows.

    Args:
        max_bytes: How much is cached; a single larger value is not.
    """

    def __init__(self, max_bytes: int) -> None:
        self._lock = threading.Lock()
        self._entries: LRUCache[Key, tuple[Value, int]] = LRUCache(
            max_bytes, getsizeof=lambda entry: entry[1]
        )

    @property
    def size_bytes(self) -> int:
        """The size of the cached values."""
        return int(self._entries.currsize)

    def get(self, key: Key) -> Value | None:
        """Return a value, or None if it is not cached."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: Key, value: Value, size_bytes: int) -> None:
        """Cache a value that takes so many bytes."""
        if size_bytes > self._entries.maxsize:
            return
        with self._lock:
            self._entries.pop(key, None)  # its bytes count no more when room is made
            self._entries[key] = (value, size_bytes)

    def clear(self) -> None:
        """Drop all."""
        with self._lock:
            self._entries.clear()
