"""Marks of references: names with their roles, and what is no code."""

import re

import pytest

from engine.syntax.parser import parse
from engine.syntax.references import Marks, texts_of
from tests.support.references import references_in


def _references(text: str, language: str) -> list[tuple[str, str]]:
    pairs = (each.split(" ", 1) for each in references_in(text, language))
    return [(name, role) for role, name in pairs]


_PYTHON = '''from app.session import SessionStore as Store, open_all
import app.http.router

@decorated
class Own(base.Base, Generic[T]):
    def run(self, store: Store | None) -> list[Item]:
        """Call hidden()."""
        value = self.helper(store.limit)  # and commented()
        try:
            return f"{build(value)} hidden_too()"
        except errors.Broken:
            pass
'''


def test_references_of_python() -> None:
    assert _references(_PYTHON, "python") == [
        ("SessionStore", "import"),
        ("open_all", "import"),
        ("router", "import"),
        ("decorated", "call"),
        ("Base", "inherit"),
        ("Generic", "inherit"),
        ("Store", "type"),
        ("list", "type"),
        ("Item", "type"),
        ("helper", "call"),
        ("build", "call"),
        ("Broken", "type"),
    ]


@pytest.mark.parametrize("word", ["hidden", "commented", "hidden_too"])
def test_comments_and_literals_are_text(word: str) -> None:
    data = _PYTHON.encode()
    marks = Marks(parse(data, "python", deadline_ms=600_000).marks or ())
    assert marks.is_text(data.index(word.encode()))
    assert not marks.is_text(data.index(b"build(value)"))
    assert not marks.is_text(data.index(b"store.limit"))


def test_the_prefix_of_a_literal_is_text() -> None:
    data = b'a = f + rb\nb = f\'{f} x\' + rb"rb" + Rb"""f""" + \'f\'\n'
    marks = Marks(parse(data, "python", deadline_ms=600_000).marks or ())
    names = list(re.finditer(rb"\b(?:f|[rR]b)\b", data))
    visible = [found.start() for found in names if not marks.is_text(found.start())]
    assert visible == [4, 8, data.index(b"{f}") + 1]


_GO = """package demo

import store "app/hidden"

type Own struct {
	*Base
	other.Mixin
	items []Item // hidden()
}

type Reader interface {
	io.Closer
	Read(ctx context.Context) (Result, error)
}

func (o *Own) Run(all map[Key]Value) Handler {
	o.visible.Start(Options{Name: "hidden"}, &http.Client{})
	defer build(`hidden`)
	value := Convert[Target](all).(Other)
	return value
}
"""

_JAVASCRIPT = """import local, { first as one, second } from 'hidden';
import * as space from 'hidden';
export { third } from 'hidden';
export { visible };
const old = require('hidden'); // hidden

class Own extends Base {
  run() {
    this.helper?.start(`hidden ${build(visible)} hidden`);
    return new errors.Broken(/hidden/) || new Plain();
  }
}
class Other extends space.Parent {}
const view = <Panel title="hidden"><ui.Row>hidden</ui.Row></Panel>;
"""

_TYPESCRIPT = """import { type first, second as two } from 'hidden';
export type { third } from 'hidden';

@decorated
class Own<T extends Limit> extends Base<T> implements Shape, ns.Other<Item> {
  constructor(private store: Map<Key, Value[]>) {
    super();
  }

  run(visible: Input | undefined): Promise<Output> {
    return this.helper!.start<Choice>(build!(visible) as Cast); // hidden
  }
}

interface Wide extends Narrow, Generic<Part> {}
type Alias = keyof Target;
"""

_RUST = """use app::store::{self, open, read as load};
use std::fmt;
/// hidden
#[derive(Clone)]
struct Own<T: Limit> {
    items: Vec<io::Item<T>>,
}

impl fmt::Display for Own<Key> {
    fn run(&self, visible: &dyn Shape) -> Result<Self, Error> {
        let own = Own::new(visible.start::<Choice>());
        println!("hidden {}", self.build(Kind::make(1)));
        match own {
            Some(_) => Status::Ready,
            _ => parse::<Target>("hidden", Options { limit: 1 }),
        }
    }
}
trait Wide: Narrow + Generic<Part> {}
"""

_JAVA = """package app;

import app.store.Store;
import static app.tools.Tools.build;
import app.other.*;

/** hidden */
@Service
class Own extends Base<Key> implements Shape, Outer.Other {
    private final Map<String, Item> items = new HashMap<>();

    @Named("hidden")
    Result run(Input visible) throws Broken {
        helper.start(visible, Target::make); // hidden
        return (Result) new Builder<Key>(Kind.class).build();
    }
}
"""

_C = """#include <hidden.h>

typedef struct inner Own;
struct outer {
    struct inner *first; /* hidden */
    Item items[3];
};
enum kind { ONE };

static Result *run(Input *visible, enum kind kind) {
    Own own = *(Own *)build(visible, "hidden");
    own.table->start(sizeof(struct outer), 'h');
    return wrap((Options){1});
}
"""

_CPP = """#include "hidden.h"
using app::swap;

template <typename T>
class Own : public Base, private ns::Generic<Key> {
  std::vector<Item> items_; // hidden
};

Result Own::run(const Input& visible) {
  auto made = std::make_unique<Target>(R"(hidden)");
  auto other = new ns::Other(Kind::make("hidden"));
  made->start(a::b::build(visible), visible.get<Choice>());
  return static_cast<Result>(parse<Part>(Color::red));
}
"""


_SNIPPETS = {
    "go": _GO,
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "rust": _RUST,
    "java": _JAVA,
    "c": _C,
    "cpp": _CPP,
}


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (
            "go",
            {
                "inherit": "Base Mixin Closer",
                "type": "Item Context Result error Own Key Value Handler Target Other",
                "call": "Start Options Client build Convert",
            },
        ),
        (
            "javascript",
            {
                "import": "local first second space third",
                "inherit": "Base Parent",
                "call": "require start build Broken Plain Panel Row",
            },
        ),
        (
            "typescript",
            {
                "import": "first second third",
                "inherit": "Base Shape Other Narrow Generic",
                "type": "Limit T Item Map Key Value Input Promise Output Choice Cast Part Target",
                "call": "decorated start build",
            },
        ),
        (
            "rust",
            {
                "import": "open read fmt",
                "inherit": "Display Narrow Generic",
                "type": "Limit Vec Item T Own Key Result "
                "Self Error Own Choice Some Status Target Part",
                "call": "derive new start println build make parse Options",
            },
        ),
        (
            "java",
            {
                "import": "Store build",
                "inherit": "Base Shape Other",
                "type": "Key Outer Map String Item Result Input Broken Target Result Key Kind",
                "call": "Service HashMap Named start make Builder build",
            },
        ),
        (
            "c",
            {
                "type": "inner inner Item Result Input kind Own Own outer",
                "call": "build start wrap Options",
            },
        ),
        (
            "cpp",
            {
                "import": "swap",
                "inherit": "Base Generic",
                "type": "Key vector Item Result Input std Target Kind a b Choice Result Part Color",
                "call": "make_unique Other make start build get static_cast parse",
            },
        ),
    ],
)
def test_references_by_role(language: str, expected: dict[str, str]) -> None:
    found: dict[str, list[str]] = {}
    for name, role in _references(_SNIPPETS[language], language):
        found.setdefault(role, []).append(name.rstrip("!"))
    assert {role: " ".join(names) for role, names in found.items()} == expected


@pytest.mark.parametrize("language", _SNIPPETS)
def test_only_comments_and_literals_are_text(language: str) -> None:
    data = _SNIPPETS[language].encode()
    parsed = parse(data, language, deadline_ms=600_000)
    assert parsed.marks is not None
    marks = Marks(parsed.marks)
    hidden = [match.start() for match in re.finditer(b"hidden", data)]
    visible = [match.start() for match in re.finditer(rb"\bvisible|\bbuild\b", data)]
    assert hidden
    assert visible
    assert all(map(marks.is_text, hidden))
    assert not any(map(marks.is_text, visible))


@pytest.mark.parametrize(
    ("nested", "outer"),
    [
        ([], []),
        ([(0, 3), (3, 5), (9, 12)], [(0, 3), (3, 5), (9, 12)]),
        ([(0, 9), (2, 4), (11, 12)], [(0, 9), (11, 12)]),
        ([(0, 9), (2, 8), (3, 4), (8, 9)], [(0, 9)]),
    ],
)
def test_stretches_of_text_are_told_without_those_within(
    nested: list[tuple[int, int]], outer: list[tuple[int, int]]
) -> None:
    marks = [start << 3 | 6 for start, _ in nested] + [end << 3 | 5 for _, end in nested]
    assert texts_of(sorted(marks)) == outer
