"""Find the jump targets of HTML pages: headings, named landmarks and elements with an id.

Scans tags, not a tree: half of the HTML in a repository consists of templates and fragments.
"""

import re
from collections import Counter
from html import unescape
from typing import NamedTuple

from engine.syntax.outline import Entry

_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(/?)([A-Za-z][\w:-]*)((?:[^<>\"']+|\"[^\"]{0,500}\"|'[^']{0,500}')*)",
    re.DOTALL,
)
#: Elements whose content is not part of the page, or has ids of its own.
_OPAQUE = {
    tag: re.compile(rb"</%s\b[^<>]*>?" % tag, re.IGNORECASE)
    for tag in (b"script", b"style", b"svg", b"textarea")
}
#: Elements that end where the next one of them begins.
_IMPLIED = frozenset(b"dd dt li option p td th tr".split())
_VOID = frozenset(b"area base br col embed hr img input link meta param source track wbr".split())
_LANDMARKS = frozenset(
    b"article aside dialog fieldset footer form header main nav search section template".split()
)
_HEADING = re.compile(rb"h[1-6]\Z")
_END_OF_HEADING = re.compile(rb"</h[1-6]\b[^<>]*>?", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"(?<![\w:.-])(id|name|aria-label)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))"
)
_NAMED = frozenset({b"a", b"form"})  # a name acts as an id here
_COMPUTED = re.compile(rb"[{}<>$%]")
_ANY_TAG = re.compile(rb"<[^<>]*>")
_ANCHOR_SIGN = re.compile(r"\s*[¶#§]\s*$")
_MOST_TITLE_BYTES = 2000
_MAX_TITLE = 200  # characters
_MOST_OPEN = 2000  # elements; deeper nesting is not a page


class _Open(NamedTuple):
    tag: bytes
    entry: int  # its index, -1 for an element without


class _Section(NamedTuple):
    level: int
    entry: int
    container: int  # index of the entry of the element around it, -1 without one


def entries_of_html(text: bytes) -> list[Entry]:
    """Find headings, landmarks with a name, and elements with an id.

    A heading covers the text after it, up to the next one of its level or the end of the named
    element around it. Names that a template computes are left out.
    """
    return _Page(text).entries()


class _Page:
    def __init__(self, text: bytes) -> None:
        self._text = text
        self._entries: list[Entry] = []
        self._open: list[_Open] = []
        self._open_tags: Counter[bytes] = Counter()
        self._around = [-1]  # entries of the open elements, innermost last
        self._sections: list[_Section] = []

    def entries(self) -> list[Entry]:
        text = self._text
        position = 0
        while (match := _TAG.search(text, position)) is not None:
            position = match.end()
            if match.group(2) is None:  # a comment
                continue
            tag = match.group(2).lower()
            opaque = _OPAQUE.get(tag)
            if match.group(1):
                self._close(tag, match)
            elif opaque is not None:
                closing = opaque.search(text, position)
                position = closing.end() if closing is not None else len(text)
                self._enter(tag, match, position)
            elif tag in _VOID or match.group(3).endswith(b"/") or len(self._open) >= _MOST_OPEN:
                self._enter(tag, match, min(position + 1, len(text)))
            else:
                if tag in _IMPLIED and self._open and self._open[-1].tag == tag:
                    self._pop(match.start())
                self._push(tag, self._enter(tag, match, len(text)))
        end = len(text.rstrip())
        while self._open:
            self._pop(end)
        self._end_sections(-1, 0, end)
        return self._entries

    def _push(self, tag: bytes, entry: int) -> None:
        self._open.append(_Open(tag, entry))
        self._open_tags[tag] += 1
        if entry >= 0:
            self._around.append(entry)

    def _close(self, tag: bytes, match: re.Match[bytes]) -> None:
        """Close the innermost element of a tag, and unclosed ones inside it."""
        if not self._open_tags[tag]:
            return
        while self._open[-1].tag != tag:
            self._pop(match.start())
        self._pop(min(match.end() + 1, len(self._text)))

    def _pop(self, end: int) -> None:
        tag, entry = self._open.pop()
        self._open_tags[tag] -= 1
        if entry >= 0:
            self._around.pop()
            self._end_sections(entry, 0, end)
            self._end(entry, end)

    def _enter(self, tag: bytes, match: re.Match[bytes], end: int) -> int:
        """Add an element with a name and return the index of its entry, or -1."""
        attributes = {
            key: double or single or bare
            for key, double, single, bare in _ATTRIBUTE.findall(match.group(3))
        }
        name = attributes.get(b"id", b"")
        if _HEADING.match(tag):
            self._enter_heading(int(tag[1:]), match, name)
            return -1
        if not name and tag in _NAMED:
            name = attributes.get(b"name", b"")
        if not name and tag in _LANDMARKS:
            name = attributes.get(b"aria-label", b"")
        if not name.strip() or _COMPUTED.search(name):
            return -1
        return self._add(match, min(match.end() + 1, end), end, _plain(name))

    def _enter_heading(self, level: int, match: re.Match[bytes], name: bytes) -> None:
        inside = min(match.end() + 1, len(self._text))
        found = _END_OF_HEADING.search(self._text, inside, inside + _MOST_TITLE_BYTES)
        if found is None:
            return
        title = _plain(_ANY_TAG.sub(b"", self._text[inside : found.start()])) or _plain(name)
        if not title or _COMPUTED.search(title.encode()):
            return
        container = self._around[-1]
        self._end_sections(container, level, match.start())
        entry = self._add(match, found.end(), len(self._text), title)
        self._sections.append(_Section(level, entry, container))

    def _add(self, match: re.Match[bytes], head_end: int, end: int, name: str) -> int:
        self._entries.append(Entry(match.start(), end, head_end, "section", name))
        return len(self._entries) - 1

    def _end_sections(self, container: int, level: int, end: int) -> None:
        """End the sections of a container down to a level; 0 ends all."""
        sections = self._sections
        while sections and sections[-1].container == container and sections[-1].level >= level:
            self._end(sections.pop().entry, end)

    def _end(self, entry: int, end: int) -> None:
        while self._text[end - 1 : end].isspace():
            end -= 1
        self._entries[entry] = self._entries[entry]._replace(end=end)


def _plain(name: bytes) -> str:
    text = " ".join(unescape(name.decode("utf-8", "replace")).split())
    return _ANCHOR_SIGN.sub("", text[:_MAX_TITLE]).rstrip()
