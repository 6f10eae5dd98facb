"""Go, Rust, C, C++ and Zig: what a text defines."""

from tests.support.symbol_rows import rows_of

_GO = """
package main

// Limit is the most.
const Limit = 10

const (
	first = iota
	// Second comes next.
	Second
)

var cache, Shared = 1, 2

// Server serves.
//
// For ever.
type Server struct {
	name string
}

type (
	// Handler handles.
	Handler interface {
		Handle(request string) error
	}
	alias = int
)

type Option[T any] func(*Server)

func New(name string) (*Server, error) { var local = 1; return nil, nil }

// Run runs.
func (s *Server) Run(args ...string) error {
	return nil
}

func (List[T]) push(value T) {}

type Alias = Server
"""


def test_go() -> None:
    assert rows_of(_GO, "go") == [
        ("constant", "Limit", 4, 4, True, -1, "const Limit = 10", "Limit is the most."),
        ("constant", "first", 7, 7, False, -1, "first = iota", ""),
        ("constant", "Second", 9, 9, True, -1, "Second", "Second comes next."),
        ("variable", "cache", 12, 12, False, -1, "var cache, Shared = 1, 2", ""),
        ("variable", "Shared", 12, 12, True, -1, "var cache, Shared = 1, 2", ""),
        ("struct", "Server", 17, 19, True, -1, "type Server struct", "Server serves.\n\nFor ever."),
        ("interface", "Handler", 23, 25, True, -1, "Handler interface", "Handler handles."),
        ("method", "Handler.Handle", 24, 24, True, 6, "Handle(request string) error", ""),
        ("type", "alias", 26, 26, False, -1, "alias = int", ""),
        ("type", "Option", 29, 29, True, -1, "type Option[T any] func(*Server)", ""),
        ("function", "New", 31, 31, True, -1, "func New(name string) (*Server, error)", ""),
        (
            "method",
            "Server.Run",
            34,
            36,
            True,
            5,
            "func (s *Server) Run(args ...string) error",
            "Run runs.",
        ),
        ("method", "List.push", 38, 38, False, -1, "func (List[T]) push(value T)", ""),
        ("type", "Alias", 40, 40, True, -1, "type Alias = Server", ""),
    ]


_RUST = """
//! The crate.

use std::fmt;

/// A point.
#[derive(Debug)]
#[serde(
    rename = "p"
)]
pub struct Point<T> { x: T }

pub(crate) enum Level { Low, High }

pub trait Draw {
    const WIDTH: u32;
    /// Draws.
    fn draw(&self);
    fn twice(&self) { self.draw() }
}

impl<T> Point<T> {
    /// Makes one.
    #[inline]
    pub fn new(x: T) -> Self where T: Copy { fn inner() {} Self { x } }
    fn hidden(&self) {}
}

impl<T> Draw for Point<T> {
    fn draw(&self) {}
}

impl fmt::Display for &Other { fn fmt(&self) {} }

macro_rules! square { ($x:expr) => { $x * $x }; }

mod tests { #[test] fn works() {} }

pub const MAX: usize = 1;
static mut COUNT: u32 = 0;
pub type Alias = u32;
pub async unsafe fn go(a: &str) -> Result<(), ()> { Ok(()) }
"""


def test_a_constant_of_a_rust_impl_is_none_of_another_one() -> None:
    text = "const A: u8 = 1;\nimpl B { const A: u8 = 2; }\nimpl C { const A: u8 = 3; }\n"
    assert [row[1] for row in rows_of(text, "rust")] == ["A", "B.A", "C.A"]


def test_rust() -> None:
    assert rows_of(_RUST, "rust") == [
        ("struct", "Point", 6, 10, True, -1, "pub struct Point<T>", "A point."),
        ("enum", "Level", 12, 12, True, -1, "pub(crate) enum Level", ""),
        ("trait", "Draw", 14, 19, True, -1, "pub trait Draw", ""),
        ("constant", "Draw.WIDTH", 15, 15, True, 2, "const WIDTH: u32", ""),
        ("method", "Draw.draw", 17, 17, True, 2, "fn draw(&self)", "Draws."),
        ("method", "Draw.twice", 18, 18, True, 2, "fn twice(&self)", ""),
        (
            "method",
            "Point.new",
            23,
            24,
            True,
            0,
            "pub fn new(x: T) -> Self where T: Copy",
            "Makes one.",
        ),
        ("function", "Point.new.inner", 24, 24, False, 6, "fn inner()", ""),
        ("method", "Point.hidden", 25, 25, False, 0, "fn hidden(&self)", ""),
        ("method", "Point.draw", 29, 29, True, 0, "fn draw(&self)", ""),
        ("method", "Other.fmt", 32, 32, True, -1, "fn fmt(&self)", ""),
        ("macro", "square", 34, 34, True, -1, "macro_rules! square", ""),
        ("module", "tests", 36, 36, False, -1, "mod tests", ""),
        ("function", "tests.works", 36, 36, False, 12, "fn works()", ""),
        ("constant", "MAX", 38, 38, True, -1, "pub const MAX: usize = 1", ""),
        ("constant", "COUNT", 39, 39, False, -1, "static mut COUNT: u32 = 0", ""),
        ("type", "Alias", 40, 40, True, -1, "pub type Alias = u32", ""),
        (
            "function",
            "go",
            41,
            41,
            True,
            -1,
            "pub async unsafe fn go(a: &str) -> Result<(), ()>",
            "",
        ),
    ]


_C = """
/* A licence. */

#include <stdio.h>
#define LIMIT 10
#define MAX(a, b) \\
  ((a) > (b) ? (a) : (b))
#ifndef GUARD_H
#define GUARD_H
#endif

struct point { int x; };
typedef struct { int y; } Plain;
typedef struct node { struct node *next; } node;
typedef int (*callback)(int);
enum level { LOW, HIGH };

static const int table[] = { 1, 2 };
int counter = 0;
EXPORTED int declared(int a);

/* Adds two numbers.
 * Carefully. */
static int add(int a, int b)
{
  int local(int);
  return a + b;
}

const char *name_of(struct point *p) { return 0; }

CURLcode
Curl_open(struct data *data,
          bool *done)
{
#define INSIDE 1
  struct inner { int z; };
}
"""


def test_c() -> None:
    assert rows_of(_C, "c") == [
        ("macro", "LIMIT", 4, 4, True, -1, "#define LIMIT 10", ""),
        ("macro", "MAX", 5, 6, True, -1, "#define MAX(a, b)", ""),
        ("struct", "point", 11, 11, True, -1, "struct point", ""),
        ("struct", "Plain", 12, 12, True, -1, "typedef struct Plain", ""),
        ("struct", "node", 13, 13, True, -1, "typedef struct node { struct node *next; } node", ""),
        ("type", "callback", 14, 14, True, -1, "typedef int (*callback)(int)", ""),
        ("enum", "level", 15, 15, True, -1, "enum level", ""),
        ("constant", "table", 17, 17, False, -1, "static const int table[] = { 1, 2 }", ""),
        ("variable", "counter", 18, 18, True, -1, "int counter = 0", ""),
        ("function", "declared", 19, 19, True, -1, "int declared(int a)", ""),
        (
            "function",
            "add",
            23,
            27,
            False,
            -1,
            "static int add(int a, int b)",
            "Adds two numbers.\nCarefully.",
        ),
        ("function", "name_of", 29, 29, True, -1, "const char *name_of(struct point *p)", ""),
        (
            "function",
            "Curl_open",
            31,
            37,
            True,
            -1,
            "CURLcode Curl_open(struct data *data, bool *done)",
            "",
        ),
        ("macro", "INSIDE", 35, 35, True, 12, "#define INSIDE 1", ""),
        ("struct", "Curl_open.inner", 36, 36, True, 12, "struct inner", ""),
    ]


_CPP = """
namespace shapes::flat { namespace {

/// A circle.
template <typename T, int N>
class API_EXPORT Circle final : public Shape<T> {
 public:
  explicit Circle(T radius) : radius_(radius) {}
  ~Circle() = default;
  Circle& operator=(const Circle& other);
  auto area() const -> T { return 1; }
  virtual void draw() = 0;
  template <typename U> void scale(U by) {}
  using Unit = T;
  enum class Fill { None, Solid };
 private:
  T radius_;
};

} }

void shapes::flat::Circle<int>::draw() {}
Circle::Circle(int radius) {}
std::ostream& operator<<(std::ostream& out, const Circle& circle) { return out; }
bool Circle::operator==(const Circle& other) const { return true; }
BEGIN_NAMESPACE
template <typename Char> INLINE_CONSTEXPR auto parse(Char* text) -> int { return 1; }
END_NAMESPACE
constexpr int limit = 1;
template <typename T> concept Small = requires(T t) { t; };
extern "C" { int c_function(int); }
static void helper() { Widget widget(1); }
TEST(circle, draws) { EXPECT(1); }
"""


def test_cpp() -> None:
    assert rows_of(_CPP, "cpp") == [
        ("namespace", "shapes.flat", 1, 19, True, -1, "namespace shapes::flat", ""),
        (
            "class",
            "shapes.flat.Circle",
            4,
            17,
            True,
            0,
            "class API_EXPORT Circle final : public Shape<T>",
            "A circle.",
        ),
        (
            "constructor",
            "shapes.flat.Circle.Circle",
            7,
            7,
            True,
            1,
            "explicit Circle(T radius) : radius_(radius)",
            "",
        ),
        ("method", "shapes.flat.Circle.~Circle", 8, 8, True, 1, "~Circle() = default", ""),
        (
            "method",
            "shapes.flat.Circle.operator=",
            9,
            9,
            True,
            1,
            "Circle& operator=(const Circle& other)",
            "",
        ),
        ("method", "shapes.flat.Circle.area", 10, 10, True, 1, "auto area() const -> T", ""),
        ("method", "shapes.flat.Circle.draw", 11, 11, True, 1, "virtual void draw() = 0", ""),
        ("method", "shapes.flat.Circle.scale", 12, 12, True, 1, "void scale(U by)", ""),
        ("type", "shapes.flat.Circle.Unit", 13, 13, True, 1, "using Unit = T", ""),
        ("enum", "shapes.flat.Circle.Fill", 14, 14, True, 1, "enum class Fill", ""),
        (
            "method",
            "shapes.flat.Circle.draw",
            21,
            21,
            True,
            1,
            "void shapes::flat::Circle<int>::draw()",
            "",
        ),
        ("constructor", "Circle.Circle", 22, 22, True, 1, "Circle::Circle(int radius)", ""),
        (
            "function",
            "operator<<",
            23,
            23,
            True,
            -1,
            "std::ostream& operator<<(std::ostream& out, const Circle& circle)",
            "",
        ),
        (
            "method",
            "Circle.operator==",
            24,
            24,
            True,
            1,
            "bool Circle::operator==(const Circle& other) const",
            "",
        ),
        ("function", "parse", 26, 26, True, -1, "auto parse(Char* text) -> int", ""),
        ("constant", "limit", 28, 28, True, -1, "constexpr int limit = 1", ""),
        ("trait", "Small", 29, 29, True, -1, "concept Small = requires(T t) { t; }", ""),
        ("function", "c_function", 30, 30, True, -1, "int c_function(int)", ""),
        ("function", "helper", 31, 31, False, -1, "static void helper()", ""),
        ("method", "circle.draws", 32, 32, True, -1, "TEST(circle, draws)", ""),
    ]


_ZIG = """
const std = @import("std");

/// Adds.
pub fn add(a: u32) !void { const local = 1; _ = local; }

pub const Point = struct {
    x: u32,
    const origin = 0;
    pub fn init() Point { return .{}; }
};

pub const Level = enum { low, high };
const Problem = error{ Missing };
pub var count: u32 = 1;
test "adds" {}
"""


def test_zig() -> None:
    assert rows_of(_ZIG, "zig") == [
        ("function", "add", 4, 4, True, -1, "pub fn add(a: u32) !void", "Adds."),
        ("struct", "Point", 6, 10, True, -1, "pub const Point = struct", ""),
        ("constant", "Point.origin", 8, 8, False, 1, "const origin = 0", ""),
        ("method", "Point.init", 9, 9, True, 1, "pub fn init() Point", ""),
        ("enum", "Level", 12, 12, True, -1, "pub const Level = enum", ""),
        ("enum", "Problem", 13, 13, False, -1, "const Problem = error", ""),
        ("variable", "count", 14, 14, True, -1, "pub var count: u32 = 1", ""),
        ("function", "adds", 15, 15, False, -1, 'test "adds"', ""),
    ]
