"""Ruby, PHP, Elixir, Haskell, Lua and shell: what a text defines."""

from tests.support.symbol_rows import rows_of

_RUBY = """
# frozen_string_literal: true

# Shapes.
module Shapes::Flat
  LIMIT = 1

  class Shape < Base
    attr_reader :sides, :name

    def initialize(sides); end

    # Draws it.
    def draw(x, *names)
      x
    end

    def self.make; end
    def ==(other); end
    def big? # :nodoc:
    end
    scope :large, -> { where(size: 1) }

    class << self
      def registry; end
    end

    private

    def hidden; end
  end

  private def inside; end
end

def top; end
Pair = Struct.new(:left) do
  def swap; end
end
value = 1
"""


def test_ruby() -> None:
    assert rows_of(_RUBY, "ruby") == [
        ("module", "Shapes.Flat", 4, 33, True, -1, "module Shapes::Flat", "Shapes."),
        ("constant", "Shapes.Flat.LIMIT", 5, 5, True, 0, "LIMIT = 1", ""),
        ("class", "Shapes.Flat.Shape", 7, 30, True, 0, "class Shape < Base", ""),
        ("property", "Shapes.Flat.Shape.sides", 8, 8, True, 2, "attr_reader :sides, :name", ""),
        ("property", "Shapes.Flat.Shape.name", 8, 8, True, 2, "attr_reader :sides, :name", ""),
        (
            "constructor",
            "Shapes.Flat.Shape.initialize",
            10,
            10,
            True,
            2,
            "def initialize(sides)",
            "",
        ),
        ("method", "Shapes.Flat.Shape.draw", 13, 15, True, 2, "def draw(x, *names)", "Draws it."),
        ("method", "Shapes.Flat.Shape.make", 17, 17, True, 2, "def self.make", ""),
        ("method", "Shapes.Flat.Shape.==", 18, 18, True, 2, "def ==(other)", ""),
        ("method", "Shapes.Flat.Shape.big?", 19, 20, True, 2, "def big?", ""),
        (
            "method",
            "Shapes.Flat.Shape.large",
            21,
            21,
            True,
            2,
            "scope :large, -> { where(size: 1) }",
            "",
        ),
        ("method", "Shapes.Flat.Shape.registry", 24, 24, True, 2, "def registry", ""),
        ("method", "Shapes.Flat.Shape.hidden", 29, 29, False, 2, "def hidden", ""),
        ("method", "Shapes.Flat.inside", 32, 32, False, 0, "def inside", ""),
        ("function", "top", 35, 35, True, -1, "def top", ""),
        ("constant", "Pair", 36, 38, True, -1, "Pair = Struct.new(:left)", ""),
        ("method", "Pair.swap", 37, 37, True, 15, "def swap", ""),
    ]


_PHP = """
<?php
namespace Shapes\\Flat;

use Other\\Base;

/**
 * A shape.
 */
#[Named(1)]
abstract class Shape extends Base implements Drawable
{
    public const LIMIT = 1, OTHER = 2;
    protected int $sides = 1;

    /** Makes one. */
    public function __construct(private int $x) { }

    abstract protected function draw(int $x): ?string;
    private static function hidden() { function inner() {} }
}
interface Drawable { public function draw(); }
trait Named { function name() {} }
enum Level: string { case Low = 'l'; }
function top(int $x) {}
"""


def test_php() -> None:
    assert rows_of(_PHP, "php") == [
        (
            "class",
            "Shapes.Flat.Shape",
            9,
            20,
            True,
            -1,
            "abstract class Shape extends Base implements Drawable",
            "A shape.",
        ),
        (
            "constant",
            "Shapes.Flat.Shape.LIMIT",
            12,
            12,
            True,
            0,
            "public const LIMIT = 1, OTHER = 2",
            "",
        ),
        (
            "constant",
            "Shapes.Flat.Shape.OTHER",
            12,
            12,
            True,
            0,
            "public const LIMIT = 1, OTHER = 2",
            "",
        ),
        (
            "constructor",
            "Shapes.Flat.Shape.__construct",
            16,
            16,
            True,
            0,
            "public function __construct(private int $x)",
            "Makes one.",
        ),
        (
            "method",
            "Shapes.Flat.Shape.draw",
            18,
            18,
            False,
            0,
            "abstract protected function draw(int $x): ?string",
            "",
        ),
        (
            "method",
            "Shapes.Flat.Shape.hidden",
            19,
            19,
            False,
            0,
            "private static function hidden()",
            "",
        ),
        ("function", "Shapes.Flat.Shape.hidden.inner", 19, 19, False, 5, "function inner()", ""),
        ("interface", "Shapes.Flat.Drawable", 21, 21, True, -1, "interface Drawable", ""),
        ("method", "Shapes.Flat.Drawable.draw", 21, 21, True, 7, "public function draw()", ""),
        ("trait", "Shapes.Flat.Named", 22, 22, True, -1, "trait Named", ""),
        ("method", "Shapes.Flat.Named.name", 22, 22, True, 9, "function name()", ""),
        ("enum", "Shapes.Flat.Level", 23, 23, True, -1, "enum Level: string", ""),
        ("function", "Shapes.Flat.top", 24, 24, True, -1, "function top(int $x)", ""),
    ]


_ELIXIR = """
defmodule Shapes.Flat do
  @moduledoc \"\"\"
  Shapes.
  \"\"\"
  @limit 10
  @type t :: %__MODULE__{}
  defstruct [:sides]

  @doc \"\"\"
  Draws it.
  \"\"\"
  @spec draw(integer) :: atom
  def draw(x) when is_integer(x) do
    x
  end
  def draw(_), do: :error

  # Hidden.
  defp hidden(x), do: x

  defmacro twice(x) do
    x
  end

  @callback area(shape :: term) :: term

  defmodule Inner do
    def one, do: 1
  end
end

defprotocol Drawable do
  def draw(x)
end

defimpl Drawable, for: Shapes.Flat do
  def draw(x), do: x
end
"""


def test_elixir() -> None:
    assert rows_of(_ELIXIR, "elixir") == [
        ("module", "Shapes.Flat", 1, 30, True, -1, "defmodule Shapes.Flat", "Shapes."),
        ("type", "Shapes.Flat.t", 6, 6, True, 0, "@type t :: %__MODULE__{}", ""),
        ("struct", "Shapes.Flat", 7, 7, True, 0, "defstruct", ""),
        (
            "function",
            "Shapes.Flat.draw",
            9,
            16,
            True,
            0,
            "def draw(x) when is_integer(x)",
            "Draws it.",
        ),
        ("function", "Shapes.Flat.hidden", 19, 19, False, 0, "defp hidden(x)", "Hidden."),
        ("macro", "Shapes.Flat.twice", 21, 23, True, 0, "defmacro twice(x)", ""),
        (
            "function",
            "Shapes.Flat.area",
            25,
            25,
            True,
            0,
            "@callback area(shape :: term) :: term",
            "",
        ),
        ("module", "Shapes.Flat.Inner", 27, 29, True, 0, "defmodule Inner", ""),
        ("function", "Shapes.Flat.Inner.one", 28, 28, True, 7, "def one", ""),
        ("interface", "Drawable", 32, 34, True, -1, "defprotocol Drawable", ""),
        ("method", "Drawable.draw", 33, 33, True, 9, "def draw(x)", ""),
        (
            "instance",
            "Shapes.Flat.Drawable",
            36,
            38,
            True,
            2,
            "defimpl Drawable, for: Shapes.Flat",
            "",
        ),
        ("method", "Shapes.Flat.Drawable.draw", 37, 37, True, 11, "def draw(x)", ""),
    ]


_HASKELL = """
module Shapes.Flat (area, Shape (..), Drawable (draw), (<+>)) where

import Data.List

-- | Its area.
area :: Shape -> Int
area (Square n) = n
area _ = 1
  where local = 2

hidden, other :: Int
hidden = 1
other = 2

x <+> y = x

-- | A shape.
data Shape = Square { side :: Int } | Circle deriving Show
newtype Wrapped = Wrapped Int
type Name = String

class Show a => Drawable a where
  -- | Draws it.
  draw :: a -> a
  draw = id

instance Drawable (Maybe a) where
  draw x = x
"""


def test_haskell() -> None:
    assert rows_of(_HASKELL, "haskell") == [
        ("function", "area", 6, 9, True, -1, "area :: Shape -> Int", "Its area."),
        ("function", "hidden", 11, 11, False, -1, "hidden, other :: Int", ""),
        ("function", "other", 11, 13, False, -1, "hidden, other :: Int", ""),
        ("function", "<+>", 15, 15, True, -1, "x <+> y = x", ""),
        (
            "struct",
            "Shape",
            18,
            18,
            True,
            -1,
            "data Shape = Square { side :: Int } | Circle deriving Show",
            "A shape.",
        ),
        ("constructor", "Shape.Square", 18, 18, True, 4, "Square { side :: Int }", ""),
        ("constructor", "Shape.Circle", 18, 18, True, 4, "Circle", ""),
        ("struct", "Wrapped", 19, 19, False, -1, "newtype Wrapped = Wrapped Int", ""),
        ("constructor", "Wrapped.Wrapped", 19, 19, False, 7, "Wrapped Int", ""),
        ("type", "Name", 20, 20, False, -1, "type Name = String", ""),
        ("class", "Drawable", 22, 25, True, -1, "class Show a => Drawable a", ""),
        ("method", "Drawable.draw", 24, 25, True, 10, "draw :: a -> a", "Draws it."),
        ("instance", "Drawable (Maybe a)", 27, 28, True, -1, "instance Drawable (Maybe a)", ""),
        ("method", "Drawable (Maybe a).draw", 28, 28, True, 12, "draw x = x", ""),
    ]


_HASKELL_UNICODE = """
-- | Doc of bar.
bar ∷ Int

bar = 1

(<+>) ∷ Int → Int

class Joins a where
  (+++) ∷ a
  first, second ∷ a
"""


def test_haskell_signatures_in_unicode() -> None:
    assert rows_of(_HASKELL_UNICODE, "haskell") == [
        ("function", "bar", 2, 4, True, -1, "bar ∷ Int", "Doc of bar."),
        ("function", "<+>", 6, 6, True, -1, "(<+>) ∷ Int → Int", ""),
        ("class", "Joins", 8, 10, True, -1, "class Joins a", ""),
        ("method", "Joins.+++", 9, 9, True, 2, "(+++) ∷ a", ""),
        ("method", "Joins.first", 10, 10, True, 2, "first, second ∷ a", ""),
        ("method", "Joins.second", 10, 10, True, 2, "first, second ∷ a", ""),
    ]


_HASKELL_OPERATOR_TYPES = """
type (~>) :: Type -> Type -> Type
data (:+:) a b :: Type where
  L :: a -> (:+:) a b
type family (++) a b :: Type
data family (+) a :: Type
class C m where
  type (++) m a :: Type
  type (++) m a = Int
  (***) :: m
  (//) x y = x
"""


def test_haskell_types_named_by_operators_are_no_functions() -> None:
    assert rows_of(_HASKELL_OPERATOR_TYPES, "haskell") == [
        ("struct", "(:+:)", 2, 3, True, -1, "data (:+:) a b :: Type where L :: a -> (:+:) a b", ""),
        ("constructor", "(:+:).L", 3, 3, True, 0, "L :: a -> (:+:) a b", ""),
        ("type", "(++)", 4, 4, True, -1, "type family (++) a b :: Type", ""),
        ("type", "(+)", 5, 5, True, -1, "data family (+) a :: Type", ""),
        ("class", "C", 6, 10, True, -1, "class C m", ""),
        ("type", "C.(++)", 7, 7, True, 4, "type (++) m a :: Type", ""),
        ("method", "C.***", 9, 9, True, 4, "(***) :: m", ""),
        ("method", "C.//", 10, 10, True, 4, "(//) x y = x", ""),
    ]


def test_haskell_names_below_their_definition_do_not_name_it() -> None:
    source = """
        data (A a) a = B
        type (C a a) = D
        data E where
          F, G :: E
          H :: E
        """
    assert [row[:2] for row in rows_of(source, "haskell")] == [
        ("constructor", "B"),
        ("struct", "E"),
        ("constructor", "E.H"),
    ]


_LUA = """
local M = {}
local other = require("other")

--- Draws it.
-- Twice.
function M.draw(x, y) end
function M:area() end
local function hidden() end
M.twice = function(x) end
local inner = function() end
M.defaults = { on_change = function() end, limit = 1 }
LIMIT = 1
return M
"""


def test_lua() -> None:
    assert rows_of(_LUA, "lua") == [
        ("variable", "M", 1, 1, False, -1, "local M = {}", ""),
        ("function", "M.draw", 6, 6, True, 0, "function M.draw(x, y)", "Draws it.\nTwice."),
        ("method", "M.area", 7, 7, True, 0, "function M:area()", ""),
        ("function", "hidden", 8, 8, False, -1, "local function hidden()", ""),
        ("function", "M.twice", 9, 9, True, 0, "M.twice = function(x)", ""),
        ("function", "inner", 10, 10, False, -1, "local inner = function()", ""),
        (
            "variable",
            "M.defaults",
            11,
            11,
            True,
            0,
            "M.defaults = { on_change = function() end, limit = 1 }",
            "",
        ),
        ("method", "M.defaults.on_change", 11, 11, True, 6, "on_change = function()", ""),
        ("constant", "LIMIT", 12, 12, True, -1, "LIMIT = 1", ""),
    ]


_BASH = """
#!/bin/bash

LIMIT=10
readonly name=x
export PATH=/bin

# Draws it.
draw() {
  local inside=1
}
function twice { :; }
"""


def test_bash() -> None:
    assert rows_of(_BASH, "bash") == [
        ("constant", "LIMIT", 3, 3, True, -1, "LIMIT=10", ""),
        ("variable", "name", 4, 4, True, -1, "readonly name=x", ""),
        ("constant", "PATH", 5, 5, True, -1, "export PATH=/bin", ""),
        ("function", "draw", 8, 10, True, -1, "draw()", "Draws it."),
        ("function", "twice", 11, 11, True, -1, "function twice", ""),
    ]
