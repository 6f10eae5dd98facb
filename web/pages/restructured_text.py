"""reStructuredText → HTML, in a process of its own: ``main`` is all that it runs.

The text is hostile. The process has limits on processor time, memory and output, so that whatever
docutils does with the text ends soon; it reads no file and no configuration. The HTML is not safe
yet: ``web.pages.previews`` cleans it. What only Sphinx knows becomes plain text.
"""

import json
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from docutils import nodes, utils
from docutils.core import publish_parts
from docutils.parsers.rst import Directive, directives, roles, states
from docutils.writers import html5_polyglot

_MAX_CPU_S = 3
_MAX_MEMORY_BYTES = 512 << 20  # of address space; a text of 100,000 characters takes up to 0.1 GB
_MAX_OUTPUT_CHARS = 4_000_000
_SETTINGS = {
    "_disable_config": True,
    "doctitle_xform": False,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "initial_header_level": 2,
    "input_encoding": "unicode",
    "math_output": "LaTeX",
    "output_encoding": "unicode",
    "raw_enabled": False,
    "report_level": 5,
    "stylesheet_path": "",
    "syntax_highlight": "short",
    "toc_backlinks": False,
    "traceback": True,
    "warning_stream": False,
}
#: What readers of a rendered text do not see.
_INVISIBLE = frozenset(
    "currentmodule default-domain highlight index meta module py:currentmodule py:module sectnum"
    " tabularcolumns".split()
)
#: Directives whose content is not reStructuredText.
_LITERAL = frozenset(
    "command-output doctest graphviz include ipython jinja literalinclude mermaid plantuml"
    " productionlist prompt raw testcleanup testcode testoutput testsetup toctree".split()
)
_LABELS = {
    "deprecated": "Deprecated since version",
    "seealso": "See also",
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}
#: Roles whose text is prose; that of any other unknown one is a name in code.
_PROSE = frozenset("abbr doc download guilabel menuselection numref ref term".split())
_UNSAFE = frozenset(("date", "include", "raw"))


class _Options(dict[str, Callable[[str | None], object]]):
    """The options of a directive; those of Sphinx are ignored."""

    def __missing__(self, name: str) -> Callable[[str | None], object]:
        return lambda value: value


class _PlainDirective(Directive):  # type: ignore[misc] # docutils has no types
    """A directive that docutils does not know: its argument, and its content without options."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        name = self.name.lower()
        if name in _INVISIBLE:
            return []
        argument = self.block_text.partition("\n")[0].partition("::")[2].strip()
        start = 1 if argument else 0
        while start < len(self.content) and self.content[start].lstrip().startswith(":"):
            start += 1
        made: list[nodes.Node] = []
        if name in _LABELS:
            made.append(_labelled(f"{_LABELS[name]} {argument}".rstrip()))
        elif argument:
            made.append(nodes.paragraph("", "", nodes.literal(argument, argument)))
        content = self.content[start:]
        if name in _LITERAL and any(content):
            text = "\n".join(content).strip("\n")
            made.append(nodes.literal_block(text, text))
        elif name not in _LITERAL:
            parent = nodes.container()
            self.state.nested_parse(content, self.content_offset + start, parent)
            made += parent.children
        return made


def _labelled(text: str) -> nodes.paragraph:
    return nodes.paragraph("", "", nodes.strong(text, text))


class _Translator(html5_polyglot.HTMLTranslator):  # type: ignore[misc]
    """HTML with the elements that the cleaning keeps."""

    def visit_literal(self, node: nodes.literal) -> None:
        self.body.append(f"<code>{self.encode(node.astext())}</code>")
        raise nodes.SkipNode

    def visit_title(self, node: nodes.title) -> None:
        if isinstance(node.parent, nodes.Admonition | nodes.topic | nodes.sidebar):
            self.body.append("<p><strong>")
            self.context.append("</strong></p>\n")
        else:
            super().visit_title(node)

    def visit_admonition(self, _: nodes.Element) -> None:
        self.body.append("<blockquote>\n")

    def depart_admonition(self, node: nodes.Element | None = None) -> None:
        self.body.append("</blockquote>\n")


class _Writer(html5_polyglot.Writer):  # type: ignore[misc]
    """Anchors each heading by its line."""

    def __init__(self) -> None:
        super().__init__()
        self.translator_class = _Translator
        self.anchors: dict[str, str] = {}  # by identifiers of docutils

    def translate(self) -> None:
        for section in self.document.findall(nodes.section):
            anchor = f"L{section.get('first_line', 1)}"
            self.anchors |= dict.fromkeys(section["ids"], anchor)
            section[0]["ids"] = [anchor]
        for image in self.document.findall(nodes.image):
            image.attributes.pop("loading", None)  # `embed` reads the file
        super().translate()


def html_of(text: str) -> tuple[str, dict[str, str]]:
    """Render a text.

    Returns:
        HTML that is not safe; the anchors of headings by the identifiers that links name.
    """
    writer = _Writer()
    parts = publish_parts(text, parser="rst", writer=writer, settings_overrides=_SETTINGS)
    return str(parts["fragment"]), writer.anchors


def main() -> None:
    """Render standard input to standard output, as JSON."""
    _limit(resource.RLIMIT_CPU, _MAX_CPU_S)
    _limit(resource.RLIMIT_AS, _MAX_MEMORY_BYTES)
    _adapt()
    html, anchors = html_of(sys.stdin.buffer.read().decode())
    if not html.strip() or len(html) > _MAX_OUTPUT_CHARS:
        sys.exit("nothing to show, or too much")
    html = html.encode(errors="replace").decode()  # `unicode` directives can name surrogates
    sys.stdout.write(json.dumps((html, anchors)))


def _limit(kind: int, value: int) -> None:
    with suppress(OSError, ValueError):  # not every system can limit everything
        resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


def _adapt() -> None:
    """Change what docutils offers no option for; nothing else runs in this process."""
    find_directive, find_role = directives.directive, roles.role
    start_section = states.RSTState.section

    def directive(name: str, language: Any, document: nodes.document) -> Any:
        if name.lower() in _UNSAFE | _INVISIBLE:
            return _PlainDirective, []
        found, _ = find_directive(name, language, document)
        if found and found.option_spec is not None:
            found.option_spec = _Options(found.option_spec)
        return found or _PlainDirective, []

    def role(name: str, language: Any, lineno: int, reporter: Any) -> Any:
        found, _ = find_role(name, language, lineno, reporter)
        return found or _plain_role, []

    def section(
        state: Any, title: str, source: str, style: str | tuple[str, str], *rest: Any
    ) -> None:
        start_section(state, title, source, style, *rest)
        if isinstance(state.parent, nodes.section):
            has_overline = len(style) > 1
            state.parent.attributes.setdefault("first_line", rest[0] - has_overline)

    directives.directive, roles.role, states.RSTState.section = directive, role, section


def _plain_role(name: str, rawtext: str, text: str, *_: Any, **__: Any) -> Any:
    """Return the text of a role that docutils does not know."""
    shown = utils.unescape(text).lstrip("!")
    if shown.endswith(">") and " <" in shown:
        shown = shown.rpartition(" <")[0]
    elif shown.startswith("~"):
        shown = shown.rpartition(".")[2].lstrip("~")
    kind = nodes.inline if name.rpartition(":")[2] in _PROSE else nodes.literal
    return [kind(rawtext, shown)], []
