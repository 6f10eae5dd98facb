"""Files as their readers see them: Markdown, reStructuredText, notebooks, CSV as sanitised HTML.

The text is hostile: HTML is cleaned by an allowlist, relative links lead to pages of this project,
external images are not loaded, and long texts, or those with very many brackets in a block or very
many cells of tables, have no preview.
"""

import csv
import io
import json
import posixpath
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from engine.browse_records import FileContent
from engine.cache import ByteCache
from engine.processes import import_paths
from web.pages.highlighting import CLASSES, lines_of
from web.pages.rendering import file_path, image_path
from web.terminal import printable_block

_MAX_CHARS = 100_000
_MAX_BRACKETS = 1_000  # of a block: the time for them grows with the square of their number
_MAX_CELLS = 20_000  # of Markdown's tables: a row of one character is filled up to the columns
_MAX_ADDRESS_CHARS = 1_000_000  # in all: many links can share a definition
_MAX_CACHE_BYTES = 16 << 20
_MAX_S = 20.0  # for reStructuredText, beside what its process may compute
_MAX_ROWS = 500
_MAX_COLUMNS = 50
_BETWEEN_BLOCKS = re.compile(r"\n[ \t]*\n")
_CELL = re.compile(r"^# %% \[([\w.+#-]{1,40})\] cell (\d{1,7})\n", re.MULTILINE)
_QUOTED = re.compile(r'"[^"]*"')
_ANCHOR = re.compile(r"L[1-9]\d{0,7}")
_NOT_IN_SLUGS = re.compile(r"[^\w\- ]")
_TAGS = frozenset(
    "a abbr b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins"
    " kbd li ol p pre q s samp small span strike strong sub summary sup table tbody td tfoot th"
    " thead tr ul var".split()
)
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "ol": {"start"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan"},
    **{f"h{level}": {"id"} for level in range(1, 7)},
}
_EXTERNAL = frozenset({"http", "https", "mailto"})


class Source(NamedTuple):
    """A file, for its links."""

    project_id: str
    path: str


def has_preview(content: FileContent) -> bool:
    """Return whether a file can be shown as its readers see it."""
    return content.language in _MAKERS and not why_no_preview(content)


def why_no_preview(content: FileContent) -> str:
    """Return why a file has no preview although others of its language have; empty otherwise."""
    if content.language not in _MAKERS:
        return ""
    if len(content.text) > _MAX_CHARS:
        return f"the file has more than {_MAX_CHARS:,} characters"
    if content.language not in ("markdown", "jupyter"):
        return ""
    blocks = _BETWEEN_BLOCKS.split(_with_plain_line_ends(content.text))
    if any(each.count("[") >= _MAX_BRACKETS for each in blocks):
        return f"a paragraph has {_MAX_BRACKETS:,} or more opening brackets"
    if sum(map(_most_cells, blocks)) > _MAX_CELLS:
        return f"its tables have more than {_MAX_CELLS:,} cells"
    return ""


def _with_plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _most_cells(block: str) -> int:
    """Return at least the number of the cells that the tables of a block are shown with."""
    lines = block.split("\n")
    return len(lines) * max(map(_columns, lines))


def _columns(line: str) -> int:
    """Return how many columns a line gives to the table in which it is the delimiter row."""
    row = line[len(line.rstrip("-:| \t")) :].strip("| \t")
    return row.count("|") + 1 if row else 0


def preview_of(project_id: str, content: FileContent) -> Markup:
    """Return a file that has a preview as safe HTML."""
    text, language = content.text, content.language
    source = Source(project_id, content.path)

    def make() -> _Preview:
        return _Preview(_MAKERS[language](_with_plain_line_ends(text), source), text)

    html = _CACHE.get((language, text, source), make).html
    return Markup(html)  # noqa: S704 - cleaned by the allowlist, or escaped


class _Preview(NamedTuple):
    """A rendered text."""

    html: str
    text: str  # which is part of its key in the cache

    @property
    def size_bytes(self) -> int:
        """The memory it takes."""
        return sys.getsizeof(self.html) + sys.getsizeof(self.text)


_CACHE: ByteCache[_Preview] = ByteCache(_MAX_CACHE_BYTES, lambda preview: preview.size_bytes)


def _markdown(text: str, source: Source, first_line: int = 1) -> str:
    parser = MarkdownIt("commonmark", {"html": True, "highlight": _highlighted})
    parser.enable(["table", "strikethrough"])
    tokens = parser.parse(text)
    if sum(_address_chars(token.children or ()) for token in tokens) > _MAX_ADDRESS_CHARS:
        return _as_source(text)
    slugs = _with_anchors(tokens, first_line)
    return _cleaned(parser.renderer.render(tokens, parser.options, {}), source, slugs)


def _address_chars(tokens: Iterable[Token]) -> int:
    """Return how long the addresses and titles of links and images are together."""
    return sum(len(str(value)) for token in tokens for value in token.attrs.values())


def _as_source(text: str) -> str:
    note = '<p class="dim">The text could not be rendered; this is its source.</p>'
    return f'{note}<pre tabindex="0">{escape(printable_block(text))}</pre>'


def _with_anchors(tokens: list[Token], first_line: int) -> dict[str, str]:
    """Lower headings by a level, anchor them by their lines, and return the anchors by slugs."""
    slugs: dict[str, str] = {}
    for at, token in enumerate(tokens):
        if token.type not in ("heading_open", "heading_close"):
            continue
        token.tag = f"h{min(int(token.tag[1:]) + 1, 6)}"
        if token.type == "heading_open" and token.map:
            anchor = f"L{first_line + token.map[0]}"
            token.attrSet("id", anchor)
            slug = _NOT_IN_SLUGS.sub("", tokens[at + 1].content.lower()).strip().replace(" ", "-")
            slugs.setdefault(slug, anchor)
    return slugs


def _cleaned(html: str, source: Source, slugs: dict[str, str]) -> str:
    import nh3

    def kept(tag: str, name: str, value: str) -> str | None:
        if name == "id":
            return value if _ANCHOR.fullmatch(value) else None
        if (tag, name) == ("a", "href"):
            return _link(value, source, slugs)
        if (tag, name) == ("img", "src"):
            return _image(value, source)
        return value

    return nh3.clean(
        html,
        tags=set(_TAGS),
        attributes={**_ATTRIBUTES, "span": set()},
        attribute_filter=kept,
        allowed_classes={"span": set(CLASSES)},
        set_tag_attribute_values={
            "pre": {"tabindex": "0"},
            "table": {"tabindex": "0"},
            "img": {"loading": "lazy"},
        },
        url_schemes=set(_EXTERNAL),
        link_rel="noopener noreferrer nofollow",
    )


def _link(target: str, source: Source, slugs: dict[str, str]) -> str | None:
    parts = _split(target)
    if parts is None:
        return None
    scheme, path, fragment = parts
    if scheme:
        return target if scheme in _EXTERNAL else None
    if not path:
        anchor = slugs.get(unquote(fragment).lower())
        return f"#{anchor}" if anchor else None
    place = _within(path, source)
    if place is None:
        return None
    return file_path(source.project_id, place) + (
        f"#{fragment}" if _ANCHOR.fullmatch(fragment) else ""
    )


def _image(target: str, source: Source) -> str | None:
    parts = _split(target)
    if parts is None or parts[0] or not parts[1]:
        return None
    place = _within(parts[1], source)
    return image_path(source.project_id, place) if place else None


def _split(target: str) -> tuple[str, str, str] | None:
    """Return scheme, path and fragment of an address; None if it leads to an unnamed scheme."""
    try:
        parts = urlsplit(target.strip())
    except ValueError:
        return None
    if parts.netloc and not parts.scheme:
        return None
    return parts.scheme.lower(), parts.path, parts.fragment


def _within(path: str, source: Source) -> str | None:
    """Return the path in the project to which a relative path leads, or None."""
    plain = unquote(path)
    folder = "" if plain.startswith("/") else posixpath.dirname(source.path)
    place = posixpath.normpath(posixpath.join(folder, plain.lstrip("/")))
    return None if place.startswith("..") or place == "." else place


def _highlighted(code: str, language: str, _: str) -> str:
    """Return code with spans for the classes of its tokens."""
    lines = lines_of(code, language.lower())
    return "\n".join(
        "".join(
            f'<span class="{piece.css}">{escape(piece.text)}</span>'
            if piece.css
            else str(escape(piece.text))
            for piece in line.pieces
        )
        for line in lines
    )


def _restructured_text(text: str, source: Source) -> str:
    """Render in a process of its own, whose limits end what takes too long."""
    code = (
        f"import sys; sys.path[:0] = {import_paths()!r}; "
        "from web.pages.restructured_text import main; main()"
    )
    try:
        done = subprocess.run(  # noqa: S603 - our interpreter and our code
            [sys.executable, "-I", "-S", "-c", code],
            input=text.encode(errors="replace"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            timeout=_MAX_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return _as_source(text)
    html, anchors = json.loads(done.stdout)
    return _cleaned(html, source, anchors)


def _notebook(text: str, source: Source) -> str:
    made = []
    headers = list(_CELL.finditer(text))
    for at, header in enumerate(headers):
        end = headers[at + 1].start() if at + 1 < len(headers) else len(text)
        body = text[header.end() : end].rstrip()
        line = text.count("\n", 0, header.end()) + 1
        language = header[1].lower()
        if language == "markdown":
            made.append(f'<div class="cell">{_markdown(body, source, line)}</div>')
        else:
            name = f"Cell {header[2]} · {escape(language)}"
            label = f'<p class="cell-number" id="L{line - 1}">{name}</p>'
            code = _highlighted(body, language, "")
            block = f'<pre tabindex="0"><code>{code}</code></pre>'
            made.append(f'<div class="cell cell-code">{label}{block}</div>')
    return "".join(made)


def _table(text: str, _: Source) -> str:
    unquoted = _QUOTED.sub("", text.partition("\n")[0])
    delimiter = max(",;\t|", key=unquoted.count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    most = 1 + _MAX_ROWS
    try:
        rows = list(islice(filter(None, reader), most + 1))
    except csv.Error:
        return f"<pre>{escape(text)}</pre>"
    shown = [f"the first {_MAX_ROWS:,} rows"] if len(rows) > most else []
    columns = max(map(len, rows), default=0)
    if columns > _MAX_COLUMNS:
        shown.append(f"the first {_MAX_COLUMNS} of {columns:,} columns")
    head, *body = [row[:_MAX_COLUMNS] for row in rows[:most]] or [[]]
    made = "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
    cells = "".join(
        f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>" for row in body
    )
    note = f'<p class="dim">{" and ".join(shown).capitalize()}.</p>' if shown else ""
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="Table"><table><thead><tr>{made}'
        f"</tr></thead><tbody>{cells}</tbody></table></div>{note}"
    )


_MAKERS: dict[str, Callable[[str, Source], str]] = {
    "markdown": _markdown,
    "restructuredtext": _restructured_text,
    "jupyter": _notebook,
    "csv": _table,
}
