"""OCaml and its interfaces: what a text defines."""

from engine.syntax.parser import parse
from tests.support.symbol_rows import rows_of

_OCAML = """
open Base

(** A shape. *)
type shape =
  | Square of int  (** With its side. *)
  | Circle of { radius : float }

type 'a box = { value : 'a; mutable seen : bool }
and other = int
type color = [ `Red | `Green ]

exception Too_large of int
external length : string -> int = "shape_length"

let limit = 10
let left, right = (1, 2)

(** Its area. *)
let rec area s = match s with Square n -> inner n | Circle _ -> 1

and inner n =
  let local m = m in
  local n

let scale' : int -> int = fun x -> x
let ( +++ ) a b = a
let ( let* ) x f = f x
let () = print_endline "x"
let _hidden x = x

module Inner = struct
  let twice x = x * 2
  let size = 1
end

module Make (X : S) : T = struct
  let made = X.value
end

module Sealed : sig
  val sealed : int
end = struct
  let sealed = 1
end

module type S = sig
  type t

  val value : t -> int
end

class point x_init = object
  val mutable x = x_init
  method get = x
  method private move d = x <- x + d
end
"""


def test_ocaml() -> None:
    assert rows_of(_OCAML, "ocaml") == [
        ("enum", "shape", 4, 6, True, -1, "type shape", "A shape."),
        ("constructor", "shape.Square", 5, 5, True, 0, "Square of int", "With its side."),
        ("constructor", "shape.Circle", 6, 6, True, 0, "Circle of { radius : float }", ""),
        ("field", "shape.Circle.radius", 6, 6, True, 2, "radius : float", ""),
        ("struct", "box", 8, 8, True, -1, "type 'a box", ""),
        ("field", "box.value", 8, 8, True, 4, "value : 'a", ""),
        ("field", "box.seen", 8, 8, True, 4, "mutable seen : bool", ""),
        ("type", "other", 9, 9, True, -1, "and other = int", ""),
        ("enum", "color", 10, 10, True, -1, "type color", ""),
        ("constructor", "color.Red", 10, 10, True, 8, "`Red", ""),
        ("constructor", "color.Green", 10, 10, True, 8, "`Green", ""),
        ("constructor", "Too_large", 12, 12, True, -1, "exception Too_large of int", ""),
        (
            "function",
            "length",
            13,
            13,
            True,
            -1,
            'external length : string -> int = "shape_length"',
            "",
        ),
        ("constant", "limit", 15, 15, True, -1, "let limit = 10", ""),
        ("constant", "left", 16, 16, True, -1, "let left, right = (1, 2)", ""),
        ("constant", "right", 16, 16, True, -1, "let left, right = (1, 2)", ""),
        ("function", "area", 19, 19, True, -1, "let rec area s", "Its area."),
        ("function", "inner", 21, 23, True, -1, "and inner n", ""),
        ("function", "scale'", 25, 25, True, -1, "let scale' : int -> int", ""),
        ("function", "+++", 26, 26, True, -1, "let ( +++ ) a b", ""),
        ("function", "let*", 27, 27, True, -1, "let ( let* ) x f", ""),
        ("function", "_hidden", 29, 29, False, -1, "let _hidden x", ""),
        ("module", "Inner", 31, 34, True, -1, "module Inner", ""),
        ("function", "Inner.twice", 32, 32, True, 22, "let twice x", ""),
        ("constant", "Inner.size", 33, 33, True, 22, "let size = 1", ""),
        ("module", "Make", 36, 38, True, -1, "module Make (X : S) : T", ""),
        ("constant", "Make.made", 37, 37, True, 25, "let made = X.value", ""),
        ("module", "Sealed", 40, 44, True, -1, "module Sealed", ""),
        ("constant", "Sealed.sealed", 41, 41, True, 27, "val sealed : int", ""),
        ("constant", "Sealed.sealed", 43, 43, True, 27, "let sealed = 1", ""),
        ("interface", "S", 46, 50, True, -1, "module type S", ""),
        ("type", "S.t", 47, 47, True, 30, "type t", ""),
        ("method", "S.value", 49, 49, True, 30, "val value : t -> int", ""),
        ("class", "point", 52, 56, True, -1, "class point x_init", ""),
        ("field", "point.x", 53, 53, True, 33, "val mutable x = x_init", ""),
        ("method", "point.get", 54, 54, True, 33, "method get", ""),
        ("method", "point.move", 55, 55, False, 33, "method private move d", ""),
    ]


_OCAML_INTERFACE = """
(** Shapes. *)
type t

val make : string -> t
(** Makes one. *)

val limit : int

val ( +++ ) : t -> t -> t
(** The doc of the next one. *)
val both : 'a. 'a -> t

module Sub : sig
  exception Bad

  val f : t -> int
end
"""


def test_interfaces() -> None:
    assert rows_of(_OCAML_INTERFACE, "ocaml-interface") == [
        ("type", "t", 2, 2, True, -1, "type t", "Shapes."),
        ("function", "make", 4, 4, True, -1, "val make : string -> t", "Makes one."),
        ("constant", "limit", 7, 7, True, -1, "val limit : int", ""),
        ("function", "+++", 9, 9, True, -1, "val ( +++ ) : t -> t -> t", ""),
        (
            "function",
            "both",
            11,
            11,
            True,
            -1,
            "val both : 'a. 'a -> t",
            "The doc of the next one.",
        ),
        ("module", "Sub", 13, 17, True, -1, "module Sub", ""),
        ("constructor", "Sub.Bad", 14, 14, True, 5, "exception Bad", ""),
        ("function", "Sub.f", 16, 16, True, 5, "val f : t -> int", ""),
    ]


_OCAML_BROKEN = """
let before x = x

let ) = = ((

let after x = x
type kept = A | B
"""


def test_what_can_be_read_of_a_broken_text_is_there() -> None:
    assert rows_of(_OCAML_BROKEN, "ocaml", result="errors") == [
        ("function", "before", 1, 1, True, -1, "let before x", ""),
        ("function", "after", 5, 5, True, -1, "let after x", ""),
        ("enum", "kept", 6, 6, True, -1, "type kept", ""),
        ("constructor", "kept.A", 6, 6, True, 2, "A", ""),
        ("constructor", "kept.B", 6, 6, True, 2, "B", ""),
    ]


def test_a_text_that_fits_the_grammar_nowhere() -> None:
    parsed = parse(
        b"let f x = x\n)) end end struct in then\nlet g = 1\n", "ocaml", deadline_ms=600_000
    )
    assert parsed.result == "errors"
    assert parsed.symbols[0].name == "f"


def test_local_values_are_no_symbols() -> None:
    text = b"let f x =\n  let g y = y in\n  let module M = struct let h = 1 end in\n  g M.h\n"
    symbols = parse(text, "ocaml", deadline_ms=600_000).symbols
    assert [symbol.qualified_name for symbol in symbols] == ["f", "f.M", "f.M.h"]


def test_tuples_that_define_constants() -> None:
    text = b"""let a, b = x
let (c, d) = x
let (e, f : int * int) = x
let (g, h as i) = x
module M = struct
  let (j, k) = x
  let (l, m : int * int) = x
end
"""
    symbols = parse(text, "ocaml", deadline_ms=600_000).symbols
    assert [symbol.name for symbol in symbols] == ["a", "b", "c", "d", "M", "j", "k"]


def test_comments_nested_without_end() -> None:
    for text in (b"(*" * 500_000, b"(*" * 250_000 + b"*)" * 250_000):
        assert parse(text, "ocaml", deadline_ms=600_000)[:2] == ([], "too_deep")
    text = b"(* a *) " * 20_000 + b"let x = 1"
    assert parse(text, "ocaml", deadline_ms=600_000).result == "ok"


def test_tuples_of_thousands() -> None:
    text = b"let x = " + b"a," * 100_000 + b"a\nlet f x = x\n"
    assert parse(text, "ocaml", deadline_ms=600_000)[:2] == ([], "too_deep")
    text = b"let x = " + b"a," * 1000 + b"a\nlet f x = x\n"
    assert [symbol.name for symbol in parse(text, "ocaml", deadline_ms=600_000).symbols] == [
        "x",
        "f",
    ]
