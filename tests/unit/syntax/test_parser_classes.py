"""Java, Kotlin, Scala, C# and Swift: what a text defines."""

from tests.support.symbol_rows import rows_of

_JAVA = """
package shapes;

/** A shape. */
@Deprecated @Named(value = "(shape)")
public class Shape<T> extends Base implements Drawable {
  private static final int LIMIT = 1;
  int field;

  /** Makes a shape. */
  public Shape(int sides) {}

  @Override
  public <U> void draw(int x,
      @Nullable String name) throws Exception { new Runnable() { public void run() {} }; }

  abstract int area();
  private void hidden() {}
  interface Listener { int WAIT = 1; void on(String event); }
  enum Level { LOW, HIGH; void up() {} }
  record Pair(int left) {}
  @interface Named { String value() default ""; }
}
"""


def test_java() -> None:
    assert rows_of(_JAVA, "java") == [
        (
            "class",
            "Shape",
            4,
            22,
            True,
            -1,
            "public class Shape<T> extends Base implements Drawable",
            "A shape.",
        ),
        ("constant", "Shape.LIMIT", 6, 6, False, 0, "private static final int LIMIT = 1", ""),
        (
            "constructor",
            "Shape.Shape",
            10,
            10,
            True,
            0,
            "public Shape(int sides)",
            "Makes a shape.",
        ),
        (
            "method",
            "Shape.draw",
            12,
            14,
            True,
            0,
            "public <U> void draw(int x, @Nullable String name) throws Exception",
            "",
        ),
        ("method", "Shape.draw.run", 14, 14, True, 3, "public void run()", ""),
        ("method", "Shape.area", 16, 16, False, 0, "abstract int area()", ""),
        ("method", "Shape.hidden", 17, 17, False, 0, "private void hidden()", ""),
        ("interface", "Shape.Listener", 18, 18, False, 0, "interface Listener", ""),
        ("constant", "Shape.Listener.WAIT", 18, 18, False, 7, "int WAIT = 1", ""),
        ("method", "Shape.Listener.on", 18, 18, False, 7, "void on(String event)", ""),
        ("enum", "Shape.Level", 19, 19, False, 0, "enum Level", ""),
        ("method", "Shape.Level.up", 19, 19, False, 10, "void up()", ""),
        ("class", "Shape.Pair", 20, 20, False, 0, "record Pair(int left)", ""),
        ("interface", "Shape.Named", 21, 21, False, 0, "@interface Named", ""),
        ("method", "Shape.Named.value", 21, 21, False, 13, 'String value() default ""', ""),
    ]


_KOTLIN = """
package shapes

/** A shape. */
@Named("shape")
public sealed class Shape<T>(
    /** How many. */
    val sides: Int, // at least three
) : Base(), Drawable {
    val area: Int = 1
    private var hidden = 2
    constructor(name: String) : this(1) { }
    override suspend fun draw(x: Int): String {
        fun local() {}
        return ""
    }
    companion object {
        const val LIMIT = 1
        fun make(): Shape = Shape(1)
    }
    enum class Level {
        LOW, HIGH;
        fun up() {}
    }
    interface Listener {
        fun on(event: String)
    }
}

object Registry {
    fun all() {}
}

// Doubles.
fun String.twice(times: Int) = 1
internal fun inside() {}
val shared = 1
var changing: Int = 1
typealias Names = Map<String, Int>
"""


def test_kotlin() -> None:
    assert rows_of(_KOTLIN, "kotlin") == [
        (
            "class",
            "Shape",
            4,
            27,
            True,
            -1,
            "public sealed class Shape<T>( val sides: Int, ) : Base(), Drawable",
            "A shape.",
        ),
        ("property", "Shape.area", 9, 9, True, 0, "val area: Int = 1", ""),
        ("property", "Shape.hidden", 10, 10, False, 0, "private var hidden = 2", ""),
        (
            "constructor",
            "Shape.constructor",
            11,
            11,
            True,
            0,
            "constructor(name: String) : this(1)",
            "",
        ),
        ("method", "Shape.draw", 12, 15, True, 0, "override suspend fun draw(x: Int): String", ""),
        ("function", "Shape.draw.local", 13, 13, True, 4, "fun local()", ""),
        ("constant", "Shape.LIMIT", 17, 17, True, 0, "const val LIMIT = 1", ""),
        ("method", "Shape.make", 18, 18, True, 0, "fun make(): Shape", ""),
        ("enum", "Shape.Level", 20, 23, True, 0, "enum class Level", ""),
        ("method", "Shape.Level.up", 22, 22, True, 8, "fun up()", ""),
        ("interface", "Shape.Listener", 24, 26, True, 0, "interface Listener", ""),
        ("method", "Shape.Listener.on", 25, 25, True, 10, "fun on(event: String)", ""),
        ("class", "Registry", 29, 31, True, -1, "object Registry", ""),
        ("method", "Registry.all", 30, 30, True, 12, "fun all()", ""),
        ("function", "String.twice", 34, 34, True, -1, "fun String.twice(times: Int)", "Doubles."),
        ("function", "inside", 35, 35, False, -1, "internal fun inside()", ""),
        ("constant", "shared", 36, 36, True, -1, "val shared = 1", ""),
        ("variable", "changing", 37, 37, True, -1, "var changing: Int = 1", ""),
        ("type", "Names", 38, 38, True, -1, "typealias Names = Map<String, Int>", ""),
    ]


_SCALA = """
package shapes

/** A shape. */
@named("shape")
abstract class Shape[T](val sides: Int) extends Base with Drawable {
  val area = 1
  private var hidden: Int = 2
  def draw(x: Int)(implicit name: String): Int = { def local = 1; 1 }
  type Unit = Int
  def this(name: String) = this(1)
}

object Shape { def apply(): Shape = ??? }
case class Pair(left: Int)
sealed trait Listener { def on(event: String): Unit }
enum Level { case Low, High }
val shared = 1
def top(x: Int) = 1
given order: Ord[Int] with { def compare = 1 }
"""


def test_scala() -> None:
    assert rows_of(_SCALA, "scala") == [
        (
            "class",
            "Shape",
            4,
            11,
            True,
            -1,
            "abstract class Shape[T](val sides: Int) extends Base with Drawable",
            "A shape.",
        ),
        ("property", "Shape.area", 6, 6, True, 0, "val area = 1", ""),
        ("property", "Shape.hidden", 7, 7, False, 0, "private var hidden: Int = 2", ""),
        ("method", "Shape.draw", 8, 8, True, 0, "def draw(x: Int)(implicit name: String): Int", ""),
        ("function", "Shape.draw.local", 8, 8, True, 3, "def local", ""),
        ("type", "Shape.Unit", 9, 9, True, 0, "type Unit = Int", ""),
        ("constructor", "Shape.this", 10, 10, True, 0, "def this(name: String)", ""),
        ("class", "Shape", 13, 13, True, -1, "object Shape", ""),
        ("method", "Shape.apply", 13, 13, True, 7, "def apply(): Shape", ""),
        ("class", "Pair", 14, 14, True, -1, "case class Pair(left: Int)", ""),
        ("trait", "Listener", 15, 15, True, -1, "sealed trait Listener", ""),
        ("method", "Listener.on", 15, 15, True, 10, "def on(event: String): Unit", ""),
        ("enum", "Level", 16, 16, True, -1, "enum Level", ""),
        ("constant", "shared", 17, 17, True, -1, "val shared = 1", ""),
        ("function", "top", 18, 18, True, -1, "def top(x: Int)", ""),
        ("instance", "order", 19, 19, True, -1, "given order: Ord[Int] with", ""),
        ("method", "order.compare", 19, 19, True, 15, "def compare", ""),
    ]


_CSHARP = """
using System;

namespace Shapes.Flat
{
    /// <summary>A shape like <see cref="Square"/>.</summary>
    [Serializable, Named("[shape]")]
    public abstract class Shape<T> : Base where T : new()
    {
        private const int Limit = 1;
        public static readonly string Name = "a";
        int field;
        public int Area { get; set; }
        public Shape(int sides) : base(sides) { }
        [Obsolete] public override async Task<int> Draw<U>(int x, string name = "x")
            where U : class { void Local() {} }
        int Twice() => 2;
        public delegate void Changed(int x);
        interface IListener { void On(string e); int Wait { get; } }
        enum Level { Low, High }
    }
    internal record struct Pair(int Left);
}
"""


def test_csharp() -> None:
    assert rows_of(_CSHARP, "csharp") == [
        ("namespace", "Shapes.Flat", 3, 22, True, -1, "namespace Shapes.Flat", ""),
        (
            "class",
            "Shapes.Flat.Shape",
            6,
            20,
            True,
            0,
            "public abstract class Shape<T> : Base where T : new()",
            "A shape like Square.",
        ),
        ("constant", "Shapes.Flat.Shape.Limit", 9, 9, False, 1, "private const int Limit = 1", ""),
        (
            "constant",
            "Shapes.Flat.Shape.Name",
            10,
            10,
            True,
            1,
            'public static readonly string Name = "a"',
            "",
        ),
        ("property", "Shapes.Flat.Shape.Area", 12, 12, True, 1, "public int Area", ""),
        ("constructor", "Shapes.Flat.Shape.Shape", 13, 13, True, 1, "public Shape(int sides)", ""),
        (
            "method",
            "Shapes.Flat.Shape.Draw",
            14,
            15,
            True,
            1,
            'public override async Task<int> Draw<U>(int x, string name = "x") where U : class',
            "",
        ),
        ("function", "Shapes.Flat.Shape.Draw.Local", 15, 15, False, 6, "void Local()", ""),
        ("method", "Shapes.Flat.Shape.Twice", 16, 16, False, 1, "int Twice()", ""),
        (
            "type",
            "Shapes.Flat.Shape.Changed",
            17,
            17,
            True,
            1,
            "public delegate void Changed(int x)",
            "",
        ),
        ("interface", "Shapes.Flat.Shape.IListener", 18, 18, False, 1, "interface IListener", ""),
        ("method", "Shapes.Flat.Shape.IListener.On", 18, 18, False, 10, "void On(string e)", ""),
        ("property", "Shapes.Flat.Shape.IListener.Wait", 18, 18, False, 10, "int Wait", ""),
        ("enum", "Shapes.Flat.Shape.Level", 19, 19, False, 1, "enum Level", ""),
        (
            "class",
            "Shapes.Flat.Pair",
            21,
            21,
            False,
            0,
            "internal record struct Pair(int Left)",
            "",
        ),
    ]


_CSHARP_FILE = """
namespace Shapes;

public class Square { public void Draw() {} }
"""


def test_csharp_namespace_of_a_file() -> None:
    assert rows_of(_CSHARP_FILE, "csharp") == [
        ("class", "Shapes.Square", 3, 3, True, -1, "public class Square", ""),
        ("method", "Shapes.Square.Draw", 3, 3, True, 0, "public void Draw()", ""),
    ]


_SWIFT = """
import Foundation

/// A shape.
@available(iOS 13, *)
public final class Shape<T>: Base where T: Named {
    public var area: Int = 1
    private let hidden = 2
    var twice: Int { 2 * area }
    init(sides: Int) { }
    @discardableResult
    open func draw(_ x: Int, with name: String) async throws -> String { "" }
    static func == (left: Shape, right: Shape) -> Bool { true }
    struct Inner { let x: Int }
    enum Level: String { case low, high(Int) }
}

public protocol Drawable: AnyObject { func draw(); var area: Int { get } }
extension Shape: Drawable { func extended() {} }
func top() {}
let shared = 1
public typealias Names = [String]
"""


def test_swift() -> None:
    assert rows_of(_SWIFT, "swift") == [
        (
            "class",
            "Shape",
            4,
            15,
            True,
            -1,
            "public final class Shape<T>: Base where T: Named",
            "A shape.",
        ),
        ("property", "Shape.area", 6, 6, True, 0, "public var area: Int = 1", ""),
        ("property", "Shape.hidden", 7, 7, False, 0, "private let hidden = 2", ""),
        ("property", "Shape.twice", 8, 8, False, 0, "var twice: Int", ""),
        ("constructor", "Shape.init", 9, 9, False, 0, "init(sides: Int)", ""),
        (
            "method",
            "Shape.draw",
            10,
            11,
            True,
            0,
            "open func draw(_ x: Int, with name: String) async throws -> String",
            "",
        ),
        (
            "method",
            "Shape.==",
            12,
            12,
            False,
            0,
            "static func == (left: Shape, right: Shape) -> Bool",
            "",
        ),
        ("struct", "Shape.Inner", 13, 13, False, 0, "struct Inner", ""),
        ("property", "Shape.Inner.x", 13, 13, False, 7, "let x: Int", ""),
        ("enum", "Shape.Level", 14, 14, False, 0, "enum Level: String", ""),
        ("interface", "Drawable", 17, 17, True, -1, "public protocol Drawable: AnyObject", ""),
        ("method", "Drawable.draw", 17, 17, True, 10, "func draw()", ""),
        ("property", "Drawable.area", 17, 17, True, 10, "var area: Int { get }", ""),
        ("method", "Shape.extended", 18, 18, False, 0, "func extended()", ""),
        ("function", "top", 19, 19, False, -1, "func top()", ""),
        ("constant", "shared", 20, 20, False, -1, "let shared = 1", ""),
        ("type", "Names", 21, 21, True, -1, "public typealias Names = [String]", ""),
    ]
