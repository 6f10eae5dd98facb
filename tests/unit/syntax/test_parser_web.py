"""JavaScript and TypeScript: what a text defines."""

import pytest

from engine.syntax.parser import parse
from tests.support.symbol_rows import rows_of

_JAVASCRIPT = """
var http = require('node:http');
const { a, b } = options;
const LIMIT = 10, other = 2;
let counter = 0;

/**
 * Respond.
 *
 * @param {number} status
 */

res.status = function status(code) { const local = 1; };

class Router extends Base {
  #secret() {}
  handle = (req) => req;
  constructor() { super(); }
  static async *walk(tree) {}
  get ['name']() {}
}

export default class View {}
export const render = async (view) => { return view; };
export function* ids() {}
function hidden() {}
function listed() {}
export { listed as renamed };
Router.prototype.use = function use(fn) {};
"""


def test_javascript() -> None:
    assert rows_of(_JAVASCRIPT, "javascript") == [
        ("constant", "LIMIT", 3, 3, False, -1, "const LIMIT = 10, other = 2", ""),
        ("constant", "other", 3, 3, False, -1, "const LIMIT = 10, other = 2", ""),
        ("variable", "counter", 4, 4, False, -1, "let counter = 0", ""),
        (
            "method",
            "res.status",
            12,
            12,
            False,
            -1,
            "res.status = function status(code)",
            "Respond.\n\n@param {number} status",
        ),
        ("class", "Router", 14, 20, False, -1, "class Router extends Base", ""),
        ("method", "Router.#secret", 15, 15, False, 4, "#secret()", ""),
        ("method", "Router.handle", 16, 16, False, 4, "handle = (req)", ""),
        ("constructor", "Router.constructor", 17, 17, False, 4, "constructor()", ""),
        ("method", "Router.walk", 18, 18, False, 4, "static async *walk(tree)", ""),
        ("method", "Router.name", 19, 19, False, 4, "get ['name']()", ""),
        ("class", "View", 22, 22, True, -1, "class View", ""),
        ("function", "render", 23, 23, True, -1, "const render = async (view)", ""),
        ("function", "ids", 24, 24, True, -1, "function* ids()", ""),
        ("function", "hidden", 25, 25, False, -1, "function hidden()", ""),
        ("function", "listed", 26, 26, True, -1, "function listed()", ""),
        ("method", "Router.use", 28, 28, False, 4, "Router.prototype.use = function use(fn)", ""),
    ]


_COMMONJS = """
exports = module.exports = create;

// Makes one.
function create() {
  this.close = function () {};
}

exports.json = (body) => body;
module.exports = { open() {}, shut: function () {}, create, limit: 1 };
var res = Object.create(null);
module.exports = res;
res.send = function send(body) {};
var app = exports = module.exports = {};
app.init = function init() {};
const helper = function () {};
"""


def test_commonjs() -> None:
    assert rows_of(_COMMONJS, "javascript") == [
        ("function", "create", 4, 6, True, -1, "function create()", "Makes one."),
        ("function", "create.close", 5, 5, False, 0, "this.close = function ()", ""),
        ("function", "json", 8, 8, True, -1, "exports.json = (body)", ""),
        ("method", "open", 9, 9, True, -1, "open()", ""),
        ("method", "shut", 9, 9, True, -1, "shut: function ()", ""),
        ("variable", "res", 10, 10, True, -1, "var res = Object.create(null)", ""),
        ("method", "res.send", 12, 12, True, 5, "res.send = function send(body)", ""),
        ("variable", "app", 13, 13, True, -1, "var app = exports = module.exports = {}", ""),
        ("method", "app.init", 14, 14, True, 7, "app.init = function init()", ""),
        ("function", "helper", 15, 15, False, -1, "const helper = function ()", ""),
    ]


_TYPESCRIPT = """
import { x } from 'x';

/** A point. */
export interface Point<T> extends Base {
  x: number;
  distance(to: Point<T>): number;
}
export type Id = string | number;
declare enum Level { Low, High }
export abstract class Store implements Point {
  private cache: number = 1;
  constructor(private readonly path: string) { super(); }
  abstract open(): void;
  protected close?(): number { return 1; }
  static make = () => new Store();

  // Loads it.
  @Input()
  public load(): void {}
}
export function over(a: string): void;
export function over(a: any) {}
export namespace Outer.Inner { export function f() {} function g() {} }
declare module 'ambient' { export function h(): void; }
@Component({ selector: 'app' })
export class Widget {}
export const pick = <T,>(value: T): T => value;
export default function (): void {}
declare const VERSION: string;
const local = { run() {} };
"""


def test_typescript() -> None:
    assert rows_of(_TYPESCRIPT, "typescript") == [
        ("interface", "Point", 4, 7, True, -1, "interface Point<T> extends Base", "A point."),
        ("method", "Point.distance", 6, 6, True, 0, "distance(to: Point<T>): number", ""),
        ("type", "Id", 8, 8, True, -1, "type Id = string | number", ""),
        ("enum", "Level", 9, 9, False, -1, "enum Level", ""),
        ("class", "Store", 10, 20, True, -1, "abstract class Store implements Point", ""),
        (
            "constructor",
            "Store.constructor",
            12,
            12,
            True,
            4,
            "constructor(private readonly path: string)",
            "",
        ),
        ("method", "Store.open", 13, 13, True, 4, "abstract open(): void", ""),
        ("method", "Store.close", 14, 14, False, 4, "protected close?(): number", ""),
        ("method", "Store.make", 15, 15, True, 4, "static make = ()", ""),
        ("method", "Store.load", 18, 19, True, 4, "public load(): void", "Loads it."),
        ("function", "over", 21, 21, True, -1, "function over(a: string): void", ""),
        ("function", "over", 22, 22, True, -1, "function over(a: any)", ""),
        ("namespace", "Outer.Inner", 23, 23, True, -1, "namespace Outer.Inner", ""),
        ("function", "Outer.Inner.f", 23, 23, True, 12, "function f()", ""),
        ("function", "Outer.Inner.g", 23, 23, False, 12, "function g()", ""),
        ("namespace", "ambient", 24, 24, False, -1, "module 'ambient'", ""),
        ("function", "ambient.h", 24, 24, True, 15, "function h(): void", ""),
        ("class", "Widget", 25, 26, True, -1, "class Widget", ""),
        ("function", "pick", 27, 27, True, -1, "const pick = <T,>(value: T): T", ""),
        ("function", "default", 28, 28, True, -1, "export default function (): void", ""),
        ("constant", "VERSION", 29, 29, False, -1, "const VERSION: string", ""),
        ("constant", "local", 30, 30, False, -1, "const local = { run() {} }", ""),
        ("method", "local.run", 30, 30, False, 21, "run()", ""),
    ]


_TSX = """
export const Button = ({ label }: Props): JSX.Element => <button>{label}</button>;
function Page() { return <Button label="a" />; }
"""


def test_tsx() -> None:
    assert rows_of(_TSX, "tsx") == [
        (
            "function",
            "Button",
            1,
            1,
            True,
            -1,
            "const Button = ({ label }: Props): JSX.Element",
            "",
        ),
        ("function", "Page", 2, 2, False, -1, "function Page()", ""),
    ]


@pytest.mark.parametrize("language", ["javascript", "typescript", "tsx"])
def test_a_statement_that_calls_defines_a_named_argument_and_one_that_makes_an_object_does_not(
    language: str,
) -> None:
    text = b"on(a, function called() {});\nnew Foo(function given() {});\n"
    text += b"new (class Made {})(function taken() {});\n"
    symbols = parse(text, language, deadline_ms=60_000).symbols
    assert {each.qualified_name: text[each.byte_start : each.byte_end] for each in symbols} == {
        "called": b"on(a, function called() {});",
        "given": b"function given() {}",
        "Made": b"class Made {}",
        "taken": b"function taken() {}",
    }


@pytest.mark.parametrize("language", ["javascript", "typescript", "tsx"])
def test_a_class_without_a_name_is_a_class(language: str) -> None:
    source = """
        export default class extends Controller {
          connect() {}
          #reset() {}
        }
        """
    assert rows_of(source, language) == [
        ("class", "default", 1, 4, True, -1, "export default class extends Controller", ""),
        ("method", "default.connect", 2, 2, True, 0, "connect()", ""),
        ("method", "default.#reset", 3, 3, False, 0, "#reset()", ""),
    ]


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_what_a_module_says_of_itself_is_no_import(language: str) -> None:
    source = """
        export const API_URL = import.meta.env.VITE_API_URL;
        const here = import . meta.url;
        const isMain = require.main === module;
        const lazy = await import('./lazy.js');
        const fs = require('node:fs'), { join } = require('node:path');
        """
    assert [(row[0], row[1], row[4]) for row in rows_of(source, language)] == [
        ("constant", "API_URL", True),
        ("constant", "here", False),
        ("constant", "isMain", False),
    ]


def test_typescript_variables_that_are_declared() -> None:
    source = """
        declare var process: Process, global: object;
        declare let title: string;
        export declare var version: string;
        """
    assert [row[:2] for row in rows_of(source, "typescript")] == [
        ("variable", "process"),
        ("variable", "global"),
        ("variable", "title"),
        ("variable", "version"),
    ]
