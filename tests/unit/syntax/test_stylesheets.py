"""CSS, SCSS and Less: what a text defines."""

from tests.support.symbol_rows import rows_of

_STYLES = """
/* Colors. */
:root { --main-color: red; --bg: url(data:image/png;base64,AA==) }
.nav li a { x: y }
.nav { x: y }
.nav:hover { x: y }
#main .content[data-x=".no"] > .title::before { content: "}{" }
.a, a.button-link:not(.none) { x: y }
@media (max-width: 100px) { .nav { x: y } .small { x: y } }
@keyframes fade { from { x: y } 50% { x: y } }
.md\\:flex { x: y }
.only .mentioned li { x: y }
"""


def test_css() -> None:
    assert rows_of(_STYLES, "css") == [
        ("variable", "--main-color", 2, 2, True, -1, "--main-color: red", ""),
        ("variable", "--bg", 2, 2, True, -1, "--bg: url(data:image/png;base64,AA==)", ""),
        ("selector", "nav", 4, 4, True, -1, ".nav", ""),
        ("selector", "main", 6, 6, True, -1, '#main .content[data-x=".no"] > .title::before', ""),
        (
            "selector",
            "content",
            6,
            6,
            True,
            -1,
            '#main .content[data-x=".no"] > .title::before',
            "",
        ),
        ("selector", "title", 6, 6, True, -1, '#main .content[data-x=".no"] > .title::before', ""),
        ("selector", "a", 7, 7, True, -1, ".a, a.button-link:not(.none)", ""),
        ("selector", "button-link", 7, 7, True, -1, ".a, a.button-link:not(.none)", ""),
        ("selector", "small", 8, 8, True, -1, ".small", ""),
        ("function", "fade", 9, 9, True, -1, "@keyframes fade", ""),
        ("selector", "md:flex", 10, 10, True, -1, ".md\\:flex", ""),
        ("selector", "only", 11, 11, True, -1, ".only .mentioned li", ""),
        ("selector", "mentioned", 11, 11, True, -1, ".only .mentioned li", ""),
    ]


_SCSS = """
@import url("http://x/y;z");
$primary: #fff !default;
// A card.
.card {
  $local: 1;
  --gap: 1px;
  &__icon { x: y }
  &.active, .inner > span { x: y }
  &:hover { x: y }
  @media print { .inner { x: y } }
}
@mixin box($a, $b: 1) { .x { y: z } }
@function double($n) { @return $n * 2; }
%placeholder { x: y }
.a#{$x}-b { x: y }
"""


def test_scss() -> None:
    assert rows_of(_SCSS, "scss") == [
        ("variable", "$primary", 2, 2, True, -1, "$primary: #fff !default", ""),
        ("selector", "card", 4, 11, True, -1, ".card", "A card."),
        ("variable", "card.--gap", 6, 6, True, 1, "--gap: 1px", ""),
        ("selector", "card.card__icon", 7, 7, True, 1, "&__icon", ""),
        ("selector", "card.active", 8, 8, True, 1, "&.active, .inner > span", ""),
        ("selector", "card.inner", 10, 10, True, 1, ".inner", ""),
        ("macro", "box", 12, 12, True, -1, "@mixin box($a, $b: 1)", ""),
        ("selector", "box.x", 12, 12, True, 6, ".x", ""),
        ("function", "double", 13, 13, True, -1, "@function double($n)", ""),
        ("selector", "placeholder", 14, 14, True, -1, "%placeholder", ""),
    ]


_LESS = """
@width: 1px;
@media screen { .a { x: y } }
.mixin(@a; @b) { x: y }
"""


def test_less() -> None:
    assert rows_of(_LESS, "less") == [
        ("variable", "@width", 1, 1, True, -1, "@width: 1px", ""),
        ("selector", "a", 2, 2, True, -1, ".a", ""),
        ("selector", "mixin", 3, 3, True, -1, ".mixin(@a; @b)", ""),
    ]


_STYLES_BROKEN = """
} .before { x: y }
.open { x: "y
.inside { x: y
"""


def test_broken() -> None:
    assert rows_of(_STYLES_BROKEN, "css") == [
        ("selector", "before", 1, 1, True, -1, ".before", ""),
        ("selector", "open", 2, 3, True, -1, ".open", ""),
        ("selector", "open.inside", 2, 3, True, 1, 'x: "y .inside', ""),
    ]
