"""reStructuredText is rendered clean, Sphinx markup as plain text, hostile text as its source."""

from pathlib import Path

import pytest
from markupsafe import escape

from tests.support.previews import previewed

_UNREADABLE = "could not be rendered"


def _shown(text: str, path: str = "docs/index.rst") -> str:
    return previewed(text, path, "restructuredtext")


def test_headings_are_anchored_by_their_lines_and_links_lead_to_them() -> None:
    shown = _shown(
        "======\nTitle\n======\n\nSee Usage_, Notes_ and `far <https://example.org/>`_.\n\n"
        ".. _Notes:\n\nUsage\n-----\n\n*Hello*, **you** with ``code``.\n"
    )
    assert '<h2 id="L1">Title</h2>' in shown
    assert '<h3 id="L9">Usage</h3>' in shown
    assert '<a href="#L9" rel="noopener noreferrer nofollow">Usage</a>' in shown
    assert '<a href="#L9" rel="noopener noreferrer nofollow">Notes</a>' in shown
    assert '<a href="https://example.org/" rel="noopener noreferrer nofollow">far</a>' in shown
    assert "<em>Hello</em>, <strong>you</strong> with <code>code</code>." in shown


def test_links_and_images_are_those_of_the_project() -> None:
    shown = _shown(
        "`guide <../guide.rst#L3>`_ `out <../../x>`_\n\n"
        ".. image:: dot.png\n   :alt: a dot\n\n.. image:: https://example.org/x.png\n   :alt: far\n"
    )
    assert '<a href="/p/p1/f/guide.rst#L3" rel' in shown
    assert '<a rel="noopener noreferrer nofollow">out</a>' in shown
    assert 'src="/p/p1/image/docs/dot.png"' in shown
    assert 'alt="far"' in shown
    assert "x.png" not in shown


def test_code_is_highlighted_and_tables_are_tables() -> None:
    shown = _shown(
        ".. code-block:: python\n   :linenos:\n   :caption: Shown\n\n   def shown(): ...\n\n"
        "==== ====\nname use\n==== ====\na    b\n==== ====\n"
    )
    assert '<span class="k">def</span>' in shown
    assert "<th><p>name</p></th>" in shown
    assert "<td><p>a</p></td>" in shown


def test_what_only_sphinx_knows_is_plain_text() -> None:
    shown = _shown(
        "Use :class:`~app.store.Store`, :meth:`!close` and :ref:`the guide <guide>` |release|.\n\n"
        ".. toctree::\n   :maxdepth: 2\n\n   install\n\n"
        ".. function:: open(path)\n   :noindex:\n\n   Opens *it*.\n\n"
        ".. versionadded:: 2.0\n   With keys.\n\n.. index:: hidden\n\n.. note:: Mind this.\n"
    )
    assert (
        "Use <code>Store</code>, <code>close</code> and <span>the guide</span> |release|" in shown
    )
    assert ">install</pre>" in shown
    assert "<p><code>open(path)</code></p>\n<p>Opens <em>it</em>.</p>" in shown
    assert "<p><strong>New in version 2.0</strong></p>\n<p>With keys.</p>" in shown
    assert "<blockquote>\n<p><strong>Note</strong></p>\n<p>Mind this.</p>" in shown
    for word in ("hidden", "maxdepth", "noindex", "Unknown", "System Message"):
        assert word not in shown


def test_mistakes_show_no_errors() -> None:
    shown = _shown(
        "Title\n=\n\n*open `too |none| missing_ :sub:`a\n\n.. image::\n\n+--+\n| a\n\nEnd.\n"
    )
    assert "*open `too |none| missing_" in shown
    assert "End." in shown
    for word in ("System Message", "problematic", "&lt;string&gt;"):
        assert word not in shown


def test_nothing_of_it_runs_and_no_file_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.svg"
    secret.write_text("<svg>opened</svg>")
    shown = _shown(
        f".. include:: {secret}\n\n.. raw:: html\n   :file: {secret}\n\n"
        f".. csv-table:: t\n   :file: {secret}\n\n.. literalinclude:: {secret}\n\n"
        f".. image:: {secret}\n   :loading: embed\n\n"
        ".. raw:: html\n\n   <script>alert(1)</script>\n\n"
        ".. role:: html(raw)\n   :format: html\n\n:html:`<b onclick='x'>`\n\n"
        "`bad <javascript:alert(1)>`_\n\n.. _worse: data:text/html,x\n\nworse_\n"
    )
    assert "opened" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    for tag in ("<script", "<b ", "javascript:", "data:", "<svg"):
        assert tag not in shown


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(" " * depth + "x\n" for depth in range(400)),
        "* " * 2000 + "x",
        "".join("  " * depth + ".. note::\n\n" for depth in range(200)),
        "".join(f".. _a{n}: a{n + 1}_\n" for n in range(5000)) + "\na0_\n",
        ".. |a| replace:: " + "x" * 9000 + "\n\n" + "|a| " * 2000,
        "\n".join("*a " * 3000 for _ in range(10)),
        ("= " * 400 + "\n") + ("a " * 400 + "\n") * 100 + "= " * 400 + "\n",
        "x" * 20_000,
    ],
    ids=["quotes", "list", "notes", "targets", "substitutions", "starts", "table", "line"],
)
def test_hostile_text_ends_as_its_source(text: str) -> None:
    shown = _shown(text)
    assert _UNREADABLE in shown
    assert f'<pre tabindex="0">{escape(text)}</pre>' in shown


def test_a_surrogate_is_replaced() -> None:
    assert "a?b" in _shown(".. |x| unicode:: a 0xD800 b\n   :trim:\n\n|x|\n").replace(" ", "")
