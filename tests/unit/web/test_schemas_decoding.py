"""Types of structs are learned by one thread at a time, or the process ends."""

import subprocess
import sys

import msgspec
import pytest

from web.schemas import converted, parsed

# New types for each round, each with others inside, and threads that all begin at once.
_FIRST_USES = """
import sys, threading
from typing import Annotated
import msgspec
from web.schemas import converted

sys.setswitchinterval(1e-6)

def made(number):
    small = Annotated[int, msgspec.Meta(ge=0)] | None
    inner = msgspec.defstruct(f"Inner{number}", [(f"a{n}", small, None) for n in range(12)])
    many = list[inner] | msgspec.UnsetType
    parts = [(f"b{n}", many, msgspec.UNSET) for n in range(6)]
    middle = msgspec.defstruct(f"Middle{number}", parts)
    return msgspec.defstruct(f"Outer{number}", [("one", middle), ("all", list[middle])])

def use(wanted, begin):
    begin.wait()
    converted({"one": {"b5": [{"a11": 1}]}, "all": [{"b0": [{"a1": 2}]}]}, wanted)

for number in range(150):
    wanted, begin = made(number), threading.Barrier(6)
    threads = [threading.Thread(target=use, args=(wanted, begin)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_may_use_a_type_first_together() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _FIRST_USES],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


class Point(msgspec.Struct, frozen=True):
    x: int
    y: int = 0


def test_what_is_no_such_value_is_refused() -> None:
    assert converted({"x": 1}, Point) == parsed(b'{"x":1,"y":0}', Point) == Point(x=1)
    with pytest.raises(msgspec.ValidationError, match=r"\$\.x"):
        converted({"x": "1"}, Point)
    with pytest.raises(msgspec.ValidationError):
        parsed(b'{"y":1}', Point)
    with pytest.raises(msgspec.DecodeError):
        parsed(b"{", Point)
