"""HTML pages: headings, landmarks and ids."""

from engine.syntax.parser import parse
from tests.support.symbol_rows import rows_of

_HTML = """
<!DOCTYPE html>
<html><head><title>T</title><script>var x = "<h1>no</h1>"</script></head>
<body>
<!-- The menu. -->
<nav id="menu" class="a"><ul><li id=one>a<li id='two'>b</ul></nav>
<main aria-label="Content">
<div><h1>Guide &amp; <code>more</code></h1></div>
<p>text
<h2 id="install">Install <a href="#x">¶</a></h2>
<input id="email" name="e">
<h3>Linux</h3> x
<h2>Use</h2>
</main>
<section><h2>Other</h2><br/></section>
<div id="{{ x }}"><span data-id="no"></span></div>
<form name="login"><textarea id="area"><h1>no</h1></textarea></form>
<footer id="foot">
<h2><%= title %></h2>
</body></html>
"""


def test_html() -> None:
    assert rows_of(_HTML, "html") == [
        ("section", "menu", 5, 5, True, -1, '<nav id="menu" class="a">', "The menu."),
        ("section", "menu.one", 5, 5, True, 0, "<li id=one>", ""),
        ("section", "menu.two", 5, 5, True, 0, "<li id='two'>", ""),
        ("section", "Content", 6, 13, True, -1, '<main aria-label="Content">', ""),
        (
            "section",
            "Content.Guide & more",
            7,
            13,
            True,
            3,
            "<h1>Guide &amp; <code>more</code></h1>",
            "",
        ),
        (
            "section",
            "Content.Guide & more.Install",
            9,
            11,
            True,
            4,
            '<h2 id="install">Install <a href="#x">¶</a></h2>',
            "",
        ),
        (
            "section",
            "Content.Guide & more.Install.email",
            10,
            10,
            True,
            5,
            '<input id="email" name="e">',
            "",
        ),
        ("section", "Content.Guide & more.Install.Linux", 11, 11, True, 5, "<h3>Linux</h3>", ""),
        ("section", "Content.Guide & more.Use", 12, 13, True, 4, "<h2>Use</h2>", ""),
        ("section", "Other", 14, 19, True, -1, "<h2>Other</h2>", ""),
        ("section", "Other.login", 16, 16, True, 9, '<form name="login">', ""),
        ("section", "Other.login.area", 16, 16, True, 10, '<textarea id="area">', ""),
        ("section", "Other.foot", 17, 18, True, 9, '<footer id="foot">', ""),
    ]


_HTML_BROKEN = """
</div><h1>Before</h2>
<div id="open
<p id=after>x</div></p>
<h2>Last
"""


def test_broken() -> None:
    assert rows_of(_HTML_BROKEN, "html") == [
        ("section", "Before", 1, 4, True, -1, "<h1>Before</h2>", ""),
        ("section", "Before.after", 3, 3, True, 0, "<p id=after>", ""),
    ]


def test_templates() -> None:
    text = b"<main id='<%= id %>'>\n{{#if a}}<h1>Title</h1>{{/if}}\n</main>\n%section#x\n"
    symbols = parse(text, "template", deadline_ms=600_000).symbols
    assert [(symbol.name, symbol.line_start, symbol.line_end) for symbol in symbols] == [
        ("Title", 2, 4)
    ]


def test_elements_nested_too_deep_are_left_out() -> None:
    text = b"".join(b"<div id=e%d>" % number for number in range(100)) + b"</div>" * 100
    parsed = parse(text, "html", deadline_ms=600_000)
    assert parsed.result == "too_deep"
    assert len(parsed.symbols) == 64
