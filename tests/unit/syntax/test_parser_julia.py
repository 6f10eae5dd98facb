"""Julia: what a text defines."""

from engine.syntax.parser import parse
from tests.support.symbol_rows import rows_of

_JULIA = """
\"\"\"
Shapes.
\"\"\"
module Shapes

export area, Square, @twice

const LIMIT, OTHER = 1, 2
const ≅ = isequal
counter = 0

"A shape."
abstract type Shape <: Any end

\"\"\"
    Square(side)

Has sides.
\"\"\"
struct Square{T<:Real} <: Shape
    side::T
    name = "x"
    Square(side) = new(side)
    function Square{T}(side, name) where T
        new(side, name)
    end
end

Base.@kwdef mutable struct Point
    x::Int = 1
end

# Its area.
area(s::Square)::Int = s.side^2
function area(p::Point; scale=1)::Int where T
    inner(y) = y
    inner(scale)
end
function Base.show(io::IO, s::Square)
end
Base.:(==)(a::Square, b::Square) = true
Base.Vector{T}(s::Square) where T = T[]
+(a::Square, b) = a
(s::Square)(x) = x
@inline hidden(x) = x
function declared end
macro twice(ex)
    ex
end
@enum Color red green
end
"""


def test_julia() -> None:
    assert rows_of(_JULIA, "julia") == [
        ("module", "Shapes", 4, 51, True, -1, "module Shapes", "Shapes."),
        ("constant", "Shapes.LIMIT", 8, 8, False, 0, "const LIMIT, OTHER = 1, 2", ""),
        ("constant", "Shapes.OTHER", 8, 8, False, 0, "const LIMIT, OTHER = 1, 2", ""),
        ("constant", "Shapes.≅", 9, 9, False, 0, "const ≅ = isequal", ""),
        ("variable", "Shapes.counter", 10, 10, False, 0, "counter = 0", ""),
        ("type", "Shapes.Shape", 13, 13, False, 0, "abstract type Shape <: Any", "A shape."),
        (
            "struct",
            "Shapes.Square",
            20,
            27,
            True,
            0,
            "struct Square{T<:Real} <: Shape",
            "Square(side)\n\nHas sides.",
        ),
        ("field", "Shapes.Square.side", 21, 21, True, 6, "side::T", ""),
        ("field", "Shapes.Square.name", 22, 22, True, 6, 'name = "x"', ""),
        ("constructor", "Shapes.Square.Square", 23, 23, True, 6, "Square(side)", ""),
        (
            "constructor",
            "Shapes.Square.Square",
            24,
            26,
            True,
            6,
            "function Square{T}(side, name) where T",
            "",
        ),
        ("struct", "Shapes.Point", 29, 31, False, 0, "mutable struct Point", ""),
        ("field", "Shapes.Point.x", 30, 30, False, 11, "x::Int = 1", ""),
        ("function", "Shapes.area", 34, 34, True, 0, "area(s::Square)::Int", "Its area."),
        (
            "function",
            "Shapes.area",
            35,
            38,
            True,
            0,
            "function area(p::Point; scale=1)::Int where T",
            "",
        ),
        ("function", "Shapes.area.inner", 36, 36, False, 14, "inner(y)", ""),
        (
            "function",
            "Shapes.Base.show",
            39,
            40,
            True,
            0,
            "function Base.show(io::IO, s::Square)",
            "",
        ),
        ("function", "Shapes.Base.==", 41, 41, True, 0, "Base.:(==)(a::Square, b::Square)", ""),
        (
            "function",
            "Shapes.Base.Vector",
            42,
            42,
            True,
            0,
            "Base.Vector{T}(s::Square) where T",
            "",
        ),
        ("function", "Shapes.+", 43, 43, False, 0, "+(a::Square, b)", ""),
        ("function", "Shapes.Square", 44, 44, True, 0, "(s::Square)(x)", ""),
        ("function", "Shapes.hidden", 45, 45, False, 0, "hidden(x)", ""),
        ("function", "Shapes.declared", 46, 46, False, 0, "function declared", ""),
        ("macro", "Shapes.twice", 47, 49, True, 0, "macro twice(ex)", ""),
        ("enum", "Shapes.Color", 50, 50, False, 0, "@enum Color red green", ""),
    ]


_JULIA_BROKEN = """
f(x) = x

function ( ) ) end

struct After
    x::Int
end
"""


def test_what_can_be_read_of_a_broken_text_is_there() -> None:
    assert rows_of(_JULIA_BROKEN, "julia", result="errors") == [
        ("function", "f", 1, 1, True, -1, "f(x)", ""),
        ("struct", "After", 5, 7, True, -1, "struct After", ""),
        ("field", "After.x", 6, 6, True, 1, "x::Int", ""),
    ]


def test_without_an_export_list_a_leading_underscore_hides() -> None:
    text = b"f(x) = x\n_g(x) = x\npublic_statement = 1\n"
    symbols = parse(text, "julia", deadline_ms=600_000).symbols
    assert [(symbol.name, symbol.exported) for symbol in symbols] == [
        ("f", True),
        ("_g", False),
        ("public_statement", True),
    ]


def test_a_string_that_is_no_doc() -> None:
    text = b'x = """\n  text\n"""\nf(y) = y\n'
    assert [symbol.doc for symbol in parse(text, "julia", deadline_ms=600_000).symbols] == ["", ""]


def test_what_is_assigned_to_is_no_function() -> None:
    text = b"f(x)[1] = 2\nf(x).y = 3\na, b = f(x)\nx == f(y)\n"
    assert parse(text, "julia", deadline_ms=600_000).symbols == []
