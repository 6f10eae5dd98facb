"""Marks of references in further languages. In each text, ``hidden`` stands where no code is."""

from typing import NamedTuple

import pytest

from tests.support.references import references_in, texts_in


class _Sample(NamedTuple):
    language: str
    text: str
    references: str  # a line of the text each, as "role name, role name"


_SAMPLES = (
    _Sample(
        "csharp",
        """using App.Stores;
using Short = App.Long;
[Serializable]
class Own<T> : Base<T>, Ns.IFace where T : Bound {
    Store? store = new Store(limit);
    Map<Key, Ns.Item[]> Run(Option option) {
        this.Helper(); Free(); option?.Safe(); Generic<Arg>(); a.b.Named<Arg>();
        return ($"hidden {Build(x)} hidden" as Cast) ?? new Ns.Made<Arg>(); // hidden
    }
}
""",
        """import Stores
import Long
call Serializable
inherit Base, type T, inherit IFace, type Bound
type Store, call Store
type Map, type Key, type Item, type Option
call Helper, call Free, call Safe, call Generic, type Arg, call Named, type Arg
call Build, type Cast, call Made, type Arg""",
    ),
    _Sample(
        "ruby",
        """require 'hidden'
class Own < Base::Parent
  include Shared
  LIMIT = Config::Default.new(1)
  def run(store, size = MAX)
    helper(store); store.member; store&.safe!; bare
    "hidden #{build(size)} hidden" # hidden
  rescue Errors::Broken
  end
end
""",
        """call require
type Base, inherit Parent
call include, type Shared
type Config, type Default, call new
type MAX
call helper, call member, call safe
call build
type Errors, type Broken""",
    ),
    _Sample(
        "php",
        """<?php
use App\\Store;
use App\\{First, Second as Other};
#[Route]
class Own extends Base implements Ns\\IFace {
    use Shared;
    private ?Item $item;
    function run(One|Two $x): Result {
        $this->helper(); free(); $x?->safe(); Maker::make(); new Ns\\Made();
        return $x instanceof Kind ? Kind::SOME : "hidden {$this->build($x)} hidden"; // hidden
    }
}
""",
        """import Store
import First, import Second
call Route
inherit Base, inherit IFace
inherit Shared
type Item
type One, type Two, type Result
call helper, call free, call safe, type Maker, call make, call Made
type Kind, type Kind, call build""",
    ),
    _Sample(
        "kotlin",
        """import app.Store
import app.Long as Short
@Marked
class Own<T : Bound>(val item: List<Item>) : Base<T>(item), ns.IFace {
    val store: Store? = Store(limit)
    fun Receiver.run(): Result {
        helper(); store?.safe(); generic<Arg>(); items.map { it.trailing() }
        items.forEach(::print)
        x infix y
        return "hidden ${build(x)} hidden" as Cast // hidden
    }
}
""",
        """import Store
import Long
call Marked
type Bound, type List, type Item, inherit Base, type T, inherit IFace
type Store, call Store
type Receiver, type Result
call helper, call safe, call generic, type Arg, call map, call trailing
call forEach, call print
call infix
call build, type Cast""",
    ),
    _Sample(
        "swift",
        """import struct App.Store
@Marked
class Own<T: Bound>: Base<T>, Ns.Face {
    let store: Store? = Store(limit)
    func run(item: [Item]) -> Result<Key, Error> {
        helper(); store?.safe(); Made<Arg>(); items.map { $0.trailing() }
        change(.case(1))
        return "hidden \\(build(x)) hidden" as? Ns.Cast // hidden
    }
}
extension Other: ~Copyable, Joined {}
struct Kept<T>: Plain, ~Escapable {}
""",
        """import Store
call Marked
type Bound, inherit Base, type T, inherit Face
type Store, call Store
type Item, type Result, type Key, type Error
call helper, call safe, call Made, type Arg, call map, call trailing
call change, call case
call build, type Cast
type Other, inherit Joined
inherit Plain""",
    ),
    _Sample(
        "scala",
        """import app.Store
import app.{First, Long => Short}
@marked
class Own[T <: Bound](item: List[Item]) extends Base[T](item) with ns.Face {
  val store: Store = new Store(limit)
  def run(x: Key => Value): Result = {
    helper(x); store.member(); generic[Arg](x); items map change
    x match { case Made(y) => "hidden" }
    s"${build(x)}" // hidden
  }
}
""",
        """import Store
import First, import Long
call marked
type Bound, type List, type Item, inherit Base, type T, inherit Face
type Store, call Store
type Key, type Value, type Result
call helper, call member, call generic, type Arg, call map
type Made
call build""",
    ),
    _Sample(
        "lua",
        """local store = require("hidden")
function Own.part:run(x)
  free(x) self:method() store.helper(x) -- hidden
  return [[hidden]] .. build "hidden"
end
""",
        """call require
call free, call method, call helper
call build""",
    ),
    _Sample(
        "elixir",
        """defmodule App.Own do
  alias App.Store
  alias App.{First, Second}
  @behaviour App.Face
  @spec run(Item.t()) :: nil
  def run(%Store{} = x) when guard(x) do
    helper(x) |> Store.member() |> piped
    Enum.map(x, &change/1)
    "hidden #{build(x)} hidden" # hidden
  end
end
""",
        """call defmodule
call alias, import Store
call alias, import App, import First, import Second
inherit Face
type Item, call t
call def, type Store, call guard
call helper, type Store, call member, call piped
type Enum, call map, call change
call build""",
    ),
    _Sample(
        "haskell",
        """module Own (run) where
import App.Store (helper, Item (..))
import qualified Data.Map as Map
data Own = Made Key | Other { part :: Maybe Value } deriving (Show)
class Base a => Face a
instance Face Own where
run :: Ord k => Map.Map k Item -> Result
run x = helper x (Map.lookup x "hidden") `infixed` Made x -- hidden
""",
        """import Store, import helper, import Item
import Map
type Key, type Maybe, type Value, inherit Show
type Base
inherit Face, type Own
type Ord, type Map, type Item, type Result
call helper, call lookup, call infixed, call Made""",
    ),
    _Sample(
        "bash",
        """run() {
  helper "hidden $(build "$x") hidden" 'hidden' # hidden
  is_ready && start --now | filter
}
""",
        """call helper, call build
call is_ready, call start, call filter""",
    ),
    _Sample(
        "zig",
        """const Store = @import("hidden.zig").Store;
const Own = struct {
    item: ?*Item,
    fn run(self: *Own, key: ns.Key) !Result {
        self.helper(); free(key); Store.init(key);
        const made: []const Value = Made{ .x = 1 };
        return build("hidden"); // hidden
    }
};
""",
        """import Store
type Item
type Own, type Key, type Result
call helper, call free, call init
type Value, call Made
call build""",
    ),
)


@pytest.mark.parametrize("sample", _SAMPLES, ids=lambda sample: sample.language)
def test_references_of_each_role(sample: _Sample) -> None:
    expected = sample.references.replace("\n", ", ").split(", ")
    assert references_in(sample.text, sample.language) == expected


@pytest.mark.parametrize("sample", _SAMPLES, ids=lambda sample: sample.language)
def test_comments_and_literals_are_text(sample: _Sample) -> None:
    texts = texts_in(sample.text, sample.language)
    assert texts.count("hidden") == sample.text.count("hidden")
    assert "build" not in texts


def test_all_exceptions_of_a_long_clause_are_references() -> None:
    names = [f"Error{number}" for number in range(300)]
    text = f"try:\n    pass\nexcept ({', '.join(names)}) as error:\n    pass\n"
    assert references_in(text, "python") == [f"type {name}" for name in names]
