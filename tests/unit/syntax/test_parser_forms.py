"""The less usual forms of definitions: each language has some that are easily missed."""

import pytest

from tests.support.symbol_rows import rows_of


def found(source: str, language: str, *, result: str = "ok") -> list[tuple[str, str, int]]:
    """Give kind, qualified name and first line of each symbol."""
    return [(row[0], row[1], row[2]) for row in rows_of(source, language, result=result)]


def test_rust_associated_types_are_types_of_their_trait() -> None:
    source = """
        pub trait Store {
            type Key: Ord + Clone;
            type Rows<'a>: Iterator where Self: 'a;
            fn get(&self, key: Self::Key);
        }
        """
    assert found(source, "rust") == [
        ("trait", "Store", 1),
        ("type", "Store.Key", 2),
        ("type", "Store.Rows", 3),
        ("method", "Store.get", 4),
    ]


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_c_names_of_function_types(language: str) -> None:
    source = """
        typedef int (on_read)(void *buffer);
        typedef void *on_take(int count);
        typedef void *(on_give)(int count);
        typedef char *(*on_name)(int id);
        typedef char **(*on_names)(int id);
        typedef int on_write(void *buffer);
        typedef int (*on_close)(void);
        """
    assert found(source, language) == [
        ("type", "on_read", 1),
        ("type", "on_take", 2),
        ("type", "on_give", 3),
        ("type", "on_name", 4),
        ("type", "on_names", 5),
        ("type", "on_write", 6),
        ("type", "on_close", 7),
    ]


def test_cpp_operators_keep_their_signs() -> None:
    source = """
        struct Grid {
          int& operator[](int index) { return cells[index]; }
          int operator()(int row, int column) const;
          explicit operator bool() const { return true; }
          bool operator==(const Grid& other) const { return true; }
        };
        """
    assert found(source, "cpp") == [
        ("struct", "Grid", 1),
        ("method", "Grid.operator[]", 2),
        ("method", "Grid.operator()", 3),
        ("method", "Grid.operator bool", 4),
        ("method", "Grid.operator==", 5),
    ]


def test_cpp_specialisations_with_long_arguments() -> None:
    condition = "&& is_same<typename T::value_type, char>::value " * 12
    source = f"""
        template <class T> struct reader<T, enable_if_t<true {condition}>> {{ int read(); }};
        template <class T> class writer<T, enable_if_t<true {condition}>> {{ int write(); }};
        """
    assert found(source, "cpp") == [
        ("struct", "reader", 1),
        ("method", "reader.read", 1),
        ("class", "writer", 2),
        ("method", "writer.write", 2),
    ]


def test_csharp_operators_and_indexers() -> None:
    source = """
        class Money {
            public static Money operator +(Money a, Money b) => a;
            public static bool operator ==(Money a, Money b) { return true; }
            public static implicit operator decimal(Money m) => m.amount;
            public static explicit operator Money?(decimal d) { return null; }
            ~Money() { }
        }
        """
    assert found(source, "csharp") == [
        ("class", "Money", 1),
        ("method", "Money.operator +", 2),
        ("method", "Money.operator ==", 3),
        ("method", "Money.operator decimal", 4),
        ("method", "Money.operator Money?", 5),
        ("method", "Money.~Money", 6),
    ]


def test_csharp_conditions_in_heads() -> None:
    source = """
        public abstract partial class Reader
        #if HAVE_ASYNC
            : IAsyncDisposable
        #endif
        {
            void Read(int kind)
            {
        #if HAVE_DATES
                if (kind == 1) { Go(); }
        #if HAVE_TIMES
                else if (kind == 2) { Go(); }
        #endif
                else { Stop(); }
            }
        }
        """
    assert found(source, "csharp", result="errors") == [
        ("class", "Reader", 1),
        ("method", "Reader.Read", 6),
    ]


def test_cpp_locals_of_test_macros_are_no_functions() -> None:
    source = """
        TEST_CASE("reads")
        {
            SECTION("a file")
            {
                std::ifstream file(name);
            }
        }
        namespace checks {
        TEST_CASE("writes")
        {
            std::ofstream file(name);
        }
        int after(int count);
        }
        void run() {
            if (ready) { go(); }
            FOR_EACH (item) { stop(); }
        }
        """
    assert found(source, "cpp", result="errors") == [
        ("namespace", "checks", 8),
        ("function", "checks.after", 13),
        ("function", "run", 15),
    ]


def test_elixir_calls_are_no_definitions_of_other_languages() -> None:
    source = """
        defmodule Routes do
          defmacro scope(path, do: context) do
            scope(path, context)
          end
        end
        """
    assert found(source, "elixir") == [("module", "Routes", 1), ("macro", "Routes.scope", 2)]


def test_kotlin_named_companions_are_classes() -> None:
    source = """
        class Shop {
            companion object Defaults : Settings() {
                fun limit() = 3
            }
            class Till {
                companion object {
                    fun open() = Till()
                }
            }
        }
        """
    assert found(source, "kotlin") == [
        ("class", "Shop", 1),
        ("class", "Shop.Defaults", 2),
        ("method", "Shop.Defaults.limit", 3),
        ("class", "Shop.Till", 5),
        ("method", "Shop.Till.open", 7),
    ]


def test_kotlin_annotation_classes() -> None:
    source = """
        @Target(AnnotationTarget.CLASS)
        annotation class Slow

        @Suppress("x")
        @Internal
        class Clock {
            fun now() = 1
        }

        @Marker
        public annotation class Odd(val why: String)

        class Last
        """
    assert found(source, "kotlin") == [
        ("class", "Slow", 1),
        ("class", "Clock", 4),
        ("method", "Clock.now", 7),
        ("class", "Odd", 10),
        ("class", "Last", 13),
    ]


def test_kotlin_classes_with_several_annotations() -> None:
    source = """
        /** Tells the time. */
        @Marked("x")
        @Internal
        public class Clock {
            companion object { val zone = 1 }
            fun now() = 1
        }

        /** Stands. */
        @First
        @Second
        class Desk

        @Third
        fun last() {}
        """
    rows = rows_of(source, "kotlin")
    assert [(row[0], row[1], row[2], row[3], row[7]) for row in rows] == [
        ("class", "Clock", 2, 7, "Tells the time."),
        ("method", "Clock.now", 6, 6, ""),
        ("class", "Desk", 10, 12, "Stands."),
        ("function", "last", 14, 15, ""),
    ]


def test_kotlin_names_that_begin_like_an_operator() -> None:
    source = """
        class Pipe {
            fun copy() {
                val in1 = source()
                in1.skip(3)
                in_2()
            }

            fun close() = 1
        }
        """
    assert found(source, "kotlin") == [
        ("class", "Pipe", 1),
        ("method", "Pipe.copy", 2),
        ("method", "Pipe.close", 8),
    ]


def test_kotlin_context_parameters() -> None:
    source = """
        context(log: Log)
        internal fun Task.report(text: String) {
            log.write(text)
        }

        fun last() = context(3)
        """
    assert found(source, "kotlin") == [("function", "Task.report", 2), ("function", "last", 6)]


def test_lua_functions_in_tables_below_the_top() -> None:
    source = """
        local M = {}
        function M.setup(options)
          start({
            on_exit = function(code) return code end,
            ["on error"] = function() end,
            limit = 3,
            function() end,
          })
          options.on_start = function() end
          options[code] = function() end
          return setmetatable({}, {
            __index = function(_, key) return key end,
          })
        end
        """
    assert found(source, "lua") == [
        ("variable", "M", 1),
        ("function", "M.setup", 2),
        ("method", "M.setup.on_exit", 4),
        ("function", "M.setup.options.on_start", 9),
        ("method", "M.setup.__index", 12),
    ]


def test_elixir_callbacks_with_named_types() -> None:
    source = """
        defmodule Rules do
          @callback change(old, extra :: term) :: {:ok, old} | :error when old: term
          @callback stop(reason :: term) :: term
        end
        """
    assert found(source, "elixir") == [
        ("module", "Rules", 1),
        ("function", "Rules.change", 2),
        ("function", "Rules.stop", 3),
    ]


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_named_function_and_class_expressions(language: str) -> None:
    source = """
        router.use(path, function mount(request) { return request; });
        app.init = function init() {};
        const start = function start() {};
        module.exports = function createApp() {};
        function outer() {
          return function inner() {};
        }
        define('x-shape', class Shape { draw() {} });
        const Circle = class Circle { draw() {} };
        app.get = function route() {};
        """
    assert found(source, language) == [
        ("function", "mount", 1),
        ("method", "app.init", 2),
        ("function", "start", 3),
        ("method", "module.exports", 4),
        ("function", "module.exports.createApp", 4),
        ("function", "outer", 5),
        ("function", "outer.inner", 6),
        ("class", "Shape", 8),
        ("method", "Shape.draw", 8),
        ("class", "Circle", 9),
        ("method", "Circle.draw", 9),
        ("method", "app.get", 10),
        ("function", "app.get.route", 10),
    ]


def test_annotations_with_nested_calls_are_no_part_of_signatures() -> None:
    source = """
        @Deprecated(
            "Use take() instead.",
            ReplaceWith("take(first())"),
        )
        fun Queue.next(): Int = take()
        """
    assert [row[6] for row in rows_of(source, "kotlin")] == ["fun Queue.next(): Int"]


def test_a_call_belongs_to_the_named_function_that_it_is_handed() -> None:
    source = """
        /** The host. */
        defineGetter(request, 'host', function host() {
          return this.header;
        });
        """
    assert rows_of(source, "javascript") == [
        (
            "function",
            "host",
            2,
            4,
            False,
            -1,
            "function host()",
            "The host.",
        )
    ]


def test_haskell_names_keep_their_primes() -> None:
    source = """
        module Fold where

        fold :: Int -> Int
        fold x = x

        fold' :: Int -> Int
        fold' x = x

        type Rows' = [Int]
        """
    assert found(source, "haskell") == [
        ("function", "fold", 3),
        ("function", "fold'", 6),
        ("type", "Rows'", 9),
    ]


def test_constants_with_their_modifiers_in_either_order() -> None:
    java = """
        class Limits {
            private final static int MAX = 1;
            @Deprecated final public static int MIN = 0, NONE = -1;
            static final int MOST = 2;
            final int own = 3;
        }
        """
    assert found(java, "java") == [
        ("class", "Limits", 1),
        ("constant", "Limits.MAX", 2),
        ("constant", "Limits.MIN", 3),
        ("constant", "Limits.NONE", 3),
        ("constant", "Limits.MOST", 4),
    ]
    csharp = """
        class Limits {
            public readonly static Range Most = new Range();
            static readonly Range Least;
            readonly Range own;
        }
        """
    assert found(csharp, "csharp") == [
        ("class", "Limits", 1),
        ("constant", "Limits.Most", 2),
        ("constant", "Limits.Least", 3),
    ]


def test_constants_of_one_name_in_several_blocks_of_a_type() -> None:
    source = """
        struct Frame;
        impl Coded for Frame { const ID: u8 = 1; }
        impl Named for Frame { const ID: &str = "frame"; }
        impl Frame { const ID: u16 = 2; }
        """
    assert found(source, "rust") == [
        ("struct", "Frame", 1),
        ("constant", "Frame.ID", 2),
        ("constant", "Frame.ID", 3),
        ("constant", "Frame.ID", 4),
    ]


def test_kotlin_properties_of_other_types_and_of_enums() -> None:
    source = """
        val Int.dp get() = Dp(this)
        val Float.dp get() = Dp(this)
        val String?.size: Int get() = 0
        val <T> List<T>.last get() = this[0]
        val View.State.isOpen get() = true
        const val LIMIT = 3

        enum class Level {
            LOW, HIGH;

            val label get() = name
            var Int.level = 1
        }
        """
    assert found(source, "kotlin") == [
        ("property", "Int.dp", 1),
        ("property", "Float.dp", 2),
        ("property", "String.size", 3),
        ("property", "List.last", 4),
        ("property", "State.isOpen", 5),
        ("constant", "LIMIT", 6),
        ("enum", "Level", 8),
        ("property", "Level.label", 11),
        ("property", "Level.Int.level", 12),
    ]


def test_kotlin_functions_of_other_types() -> None:
    source = """
        fun String.words(): List<String> = split(" ")
        fun String?.orNone(): String = this ?: "none"
        fun <T> List<T>.second(): T = this[1]
        fun Map<String, Int>?.total() = 0
        fun View.State.open() = Unit
        fun List<String>.join(): String {
            return ""
        }
        fun main(arguments: Array<String>) = Unit
        """
    assert found(source, "kotlin") == [
        ("function", "String.words", 1),
        ("function", "String.orNone", 2),
        ("function", "List.second", 3),
        ("function", "Map.total", 4),
        ("function", "State.open", 5),
        ("function", "List.join", 6),
        ("function", "main", 9),
    ]


def test_cpp_functions_that_return_pointers_to_pointers() -> None:
    source = """
        char **Names::all() { return 0; }
        class Names {
            char **first() { return 0; }
            char **last();
            Name **operator[](int index);
        };
        """
    assert found(source, "cpp") == [
        ("method", "Names.all", 1),
        ("class", "Names", 2),
        ("method", "Names.first", 3),
        ("method", "Names.last", 4),
        ("method", "Names.operator[]", 5),
    ]


def test_php_namespaces_follow_each_other() -> None:
    source = """
        <?php
        namespace App;
        class Store { function open() {} }
        const LIMIT = 1;
        namespace App\\Tests;
        class Store {}
        const LIMIT = 2;
        function run() {}
        """
    assert found(source, "php") == [
        ("class", "App.Store", 3),
        ("method", "App.Store.open", 3),
        ("constant", "App.LIMIT", 4),
        ("class", "App.Tests.Store", 6),
        ("constant", "App.Tests.LIMIT", 7),
        ("function", "App.Tests.run", 8),
    ]
