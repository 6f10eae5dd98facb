"""Python: what a text defines."""

from tests.support.symbol_rows import rows_of

_PYTHON = """
#!/usr/bin/env python
# A licence, not a doc.

import os

__all__ = ["Shape"]
MAX_SIDES = 12
_cache = {}
_cache = None
type Pair = tuple[int, int]


# Says what a shape is.
# In two lines.
class Shape(Base):
    sides = 0

    def __init__(self, sides: int) -> None:
        \"\"\"Make a shape.

        With sides.
        \"\"\"

    @property
    def area(self) -> float:
        'In square metres.'
        return 1.0

    # Not a docstring, but a comment.
    async def _hidden(
        self,
        *names: str,
    ) -> None:
        def inner(): pass


@decorated(1)
@twice
def build(kind="a") -> Shape:
    local = 1
    LOCAL = 2


if True:
    def guarded(): ...
"""


def test_python() -> None:
    assert rows_of(_PYTHON, "python") == [
        ("variable", "__all__", 6, 6, True, -1, '__all__ = ["Shape"]', ""),
        ("constant", "MAX_SIDES", 7, 7, True, -1, "MAX_SIDES = 12", ""),
        ("variable", "_cache", 8, 8, False, -1, "_cache = {}", ""),
        ("type", "Pair", 10, 10, True, -1, "type Pair = tuple[int, int]", ""),
        (
            "class",
            "Shape",
            15,
            34,
            True,
            -1,
            "class Shape(Base)",
            "Says what a shape is.\nIn two lines.",
        ),
        (
            "constructor",
            "Shape.__init__",
            18,
            22,
            True,
            4,
            "def __init__(self, sides: int) -> None",
            "Make a shape.\n\nWith sides.",
        ),
        ("method", "Shape.area", 24, 27, True, 4, "def area(self) -> float", "In square metres."),
        (
            "method",
            "Shape._hidden",
            30,
            34,
            False,
            4,
            "async def _hidden( self, *names: str, ) -> None",
            "Not a docstring, but a comment.",
        ),
        ("function", "Shape._hidden.inner", 34, 34, True, 7, "def inner()", ""),
        ("function", "build", 37, 41, True, -1, 'def build(kind="a") -> Shape', ""),
        ("function", "guarded", 45, 45, True, -1, "def guarded()", ""),
    ]
