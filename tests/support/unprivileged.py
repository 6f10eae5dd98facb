"""Runs code as a user whom permission bits stop."""

import json
import os
from collections.abc import Callable
from typing import Any

_NOBODY = 65534


def as_nobody(work: Callable[[], Any]) -> Any:
    """Call a function as a user without privileges and give what it returns, as JSON would.

    For root that is a child process, as permission bits do not stop root. What the function needs
    from disk beyond the tree under test has to be loaded already.
    """
    if os.geteuid() != 0:
        return json.loads(json.dumps(work()))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        content = answer.read()
    os.waitpid(child, 0)
    assert content, "the child process failed"
    return json.loads(content)
