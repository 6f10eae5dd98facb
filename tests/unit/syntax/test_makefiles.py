"""Makefiles and justfiles: what a text defines."""

from engine.syntax.parser import parse
from tests.support.symbol_rows import rows_of

_MAKEFILE = """
# The compiler.
CC := gcc
VERSION ?= 1
VERSION ?= 2
obj-$(CONFIG_X) += a.o
CFLAGS += -O2
export FLAGS = a \\
  b: c
.PHONY: all clean
.DEFAULT_GOAL := all

# Builds all.
all: build test
	@echo x: y

build test: deps | order ## Makes it.
	go build
	go vet

%.o: %.c
	$(CC) -c $<

$(BIN)/tool $(call f,a b): tool.c
	touch $@
all: more
a.txt: FLAGS = bar
$(info x: y)

define run
all: none
endef

ifeq ($(A),b)
	MODE := x
else
	MODE := y
  lint:
	ruff
endif
"""


def test_makefile() -> None:
    assert rows_of(_MAKEFILE, "makefile") == [
        ("constant", "CC", 2, 2, True, -1, "CC := gcc", "The compiler."),
        ("constant", "VERSION", 3, 3, True, -1, "VERSION ?= 1", ""),
        ("constant", "FLAGS", 7, 8, True, -1, "export FLAGS = a", ""),
        ("target", "all", 13, 14, True, -1, "all: build test", "Builds all."),
        ("target", "build", 16, 18, True, -1, "build test: deps | order", "Makes it."),
        ("target", "test", 16, 18, True, -1, "build test: deps | order", "Makes it."),
        ("target", "%.o", 20, 21, True, -1, "%.o: %.c", ""),
        ("target", "$(BIN)/tool", 23, 24, True, -1, "$(BIN)/tool $(call f,a b): tool.c", ""),
        ("target", "$(call f,a b)", 23, 24, True, -1, "$(BIN)/tool $(call f,a b): tool.c", ""),
        ("macro", "run", 29, 31, True, -1, "define run", ""),
        ("constant", "MODE", 34, 34, True, -1, "MODE := x", ""),
        ("constant", "MODE", 36, 36, True, -1, "MODE := y", ""),
        ("target", "lint", 37, 38, True, -1, "lint", ""),
    ]


_JUSTFILE = """
set shell := ["bash"]
name := "x"

# Builds.
build target='debug' *flags: clean
    cargo build: {{target}}
@quiet:
    echo
"""


def test_justfile() -> None:
    assert rows_of(_JUSTFILE, "makefile") == [
        ("variable", "name", 2, 2, True, -1, 'name := "x"', ""),
        ("target", "build", 5, 6, True, -1, "build target='debug' *flags: clean", "Builds."),
        ("target", "quiet", 7, 8, True, -1, "@quiet", ""),
    ]


_MAKEFILE_BROKEN = """
before: a
	cmd $(
X = $(shell (
a $(b c: d
after:
	cmd
define open
x
"""


def test_broken() -> None:
    assert rows_of(_MAKEFILE_BROKEN, "makefile") == [
        ("target", "before", 1, 2, True, -1, "before: a", ""),
        ("variable", "X", 3, 3, True, -1, "X = $(shell (", ""),
        ("target", "a", 4, 4, True, -1, "a $(b c: d", ""),
        ("target", "c", 4, 4, True, -1, "a $(b c: d", ""),
        ("target", "after", 5, 6, True, -1, "after", ""),
        ("macro", "open", 7, 8, True, -1, "define open", ""),
    ]


def test_a_tab_begins_a_recipe_only_behind_a_rule() -> None:
    text = b"ifdef A\n\tX = 1\nendif\nall:\n\tY = 1\n"
    names = [symbol.name for symbol in parse(text, "makefile", deadline_ms=600_000).symbols]
    assert names == ["X", "all"]


def test_a_rule_of_many_targets_and_lines_is_read_in_linear_time() -> None:
    targets = b" ".join(b"t%d" % number for number in range(20_000))
    text = targets + b":\n" + b"\tcmd\n" * 40_000
    symbols = parse(text, "makefile", deadline_ms=600_000).symbols
    assert (len(symbols), symbols[0].line_end) == (20_000, 40_001)


def test_a_rule_that_is_repeated_counts_where_it_has_a_recipe() -> None:
    text = b"a: b\na: c\na: d\n\tcmd\nb:\nb:\n"
    symbols = parse(text, "makefile", deadline_ms=600_000).symbols
    assert [(symbol.name, symbol.line_start) for symbol in symbols] == [
        ("a", 1),
        ("a", 3),
        ("b", 5),
    ]


def test_windows_line_breaks() -> None:
    text = b"A = 1\r\nall: b\r\n\tcmd\r\n"
    symbols = parse(text, "makefile", deadline_ms=600_000).symbols
    assert [(symbol.name, symbol.signature) for symbol in symbols] == [
        ("A", "A = 1"),
        ("all", "all: b"),
    ]
