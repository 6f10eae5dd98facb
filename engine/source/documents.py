"""The text of PDF and Word documents, by page or heading; needs ``codecairn[documents]``.

A page begins with the line ``# page 3``, a heading of a Word document with its number signs, as in
Markdown; a line of the text itself that looks so is indented. Runs in a worker process: hostile
documents can take any time and memory. The time of the processor is limited here, memory by the
limits on the worker, and what a document may unfold to by its own list of parts. What could be read
until the time was up is kept, with a last line that says so.
"""

import gc
import logging
import re
import signal
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from itertools import chain
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from docx.oxml.xmlchemy import BaseOxmlElement
    from pypdf import PdfReader

#: The languages whose files are documents, and the package that reads each.
PACKAGES: Final = {"pdf": "pypdf", "docx": "docx"}
EXTRA: Final = "codecairn[documents]"

_NAMES: Final = {"pdf": "a PDF document", "docx": "a Word document"}
_CPU_S: Final = 6.0  # below what a worker is allowed in all, see ``fork_server``
_AGAIN_S: Final = 0.2  # the signal is repeated: a library may swallow the first
_MAX_TEXT: Final = 4 << 20  # characters; the text of 1,500 full pages
_MAX_PAGES: Final = 5000
_MAX_PARTS: Final = 5000
_MOST_NAMED: Final = 20  # pages that cannot be read
_MAX_UNPACKED: Final = 100 << 20  # bytes of all parts of a Word document
_MAX_XML: Final = 32 << 20  # bytes of its text alone, which takes ten times as much memory
_PDF_HEAD: Final = 1024  # the signature stands somewhere in these bytes
_OLE: Final = b"\xd0\xcf\x11\xe0"
_HEADING = re.compile(r"(?:heading|title)\s*(\d?)", re.IGNORECASE)
_LIKE_HEADING = re.compile(r"^(?=#)", re.MULTILINE)
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _TABLE, _ROW, _CELL = (f"{_WORD}{name}" for name in ("p", "tbl", "tr", "tc"))
_TEXT, _TEXT_BOX = f"{_WORD}t", f"{_WORD}txbxContent"
_BLANKS: Final = {
    f"{_WORD}{name}": text
    for name, text in (("tab", "\t"), ("br", "\n"), ("cr", "\n"), ("noBreakHyphen", "-"))
}
#: The same again, for old programs.
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
#: Not in the text: that again, what was deleted while changes were tracked, and properties.
_GONE: Final = frozenset(
    (_FALLBACK, *(f"{_WORD}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "sdtPr")))
)
_DELETED_ROW: Final = f"{_WORD}trPr/{_WORD}del"
_NOTES: Final = ("/word/footnotes.xml", "/word/endnotes.xml")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


class NoTextError(Exception):
    """A document has no text that can be read, as the message says."""


class _TimeUp(BaseException):
    """The time of the processor for a document is used up."""


def document_language(path: str) -> str | None:
    """Return the language of a document by its name, or None for any other file."""
    _, dot, ending = path.lower().rpartition(".")
    return ending if dot and ending in PACKAGES else None


def missing_package(language: str) -> str:
    """Return why documents cannot be read, or an empty string; takes 4 ms."""
    if find_spec(PACKAGES[language]) is None:
        return f"{_NAMES[language]}, whose text needs {EXTRA}"
    return ""


def document_text(data: bytes, language: str, *, cpu_s: float = _CPU_S) -> bytes:
    """Return the text of a document.

    Args:
        data: The whole file.
        language: One of ``PACKAGES``.
        cpu_s: The time of the processor that it may take, in the main thread of a process.

    Raises:
        NoTextError: It is damaged, encrypted, no such document, or has no text.
    """
    if not data:
        raise NoTextError("the file is empty")
    pieces: list[str] = []
    try:
        with _time_limit(cpu_s):
            stopped = _read(data, language, pieces)
    except _TimeUp:
        stopped = "it takes too long"
    except RecursionError:
        stopped = "it is nested too deep"
    except MemoryError:
        pieces.clear()
        stopped = "it takes too much memory"
    finally:
        gc.collect()  # workers do not collect the cycles that these libraries make
    if not pieces:
        raise NoTextError(stopped or "it has no text; perhaps its pages are pictures")
    if stopped:
        pieces.append(f"[the rest was not read: {stopped}]\n")
    return "\n".join(pieces).encode("utf-8", "replace")


def _read(data: bytes, language: str, pieces: list[str]) -> str:
    """Add the text of a document, and return why it ends before its end, or an empty string."""
    left = _MAX_TEXT
    try:
        for piece in _PIECES[language](data):
            pieces.append(piece[:left])
            left -= len(piece)
            if left <= 0:
                return "it is too long"
    except (NoTextError, MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001 - libraries fail in any way on damaged documents
        return f"it is damaged ({type(error).__name__})"
    return ""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """End the block with ``_TimeUp`` when it has used so much time of the processor.

    Cycles are not collected in the block: Python ignores what is raised in a callback or a
    finalizer of a collection.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread alone; workers have no other
        return

    is_over = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if not is_over:
            raise _TimeUp

    collects = gc.isenabled()
    before = signal.signal(signal.SIGPROF, stop)
    try:
        gc.disable()
        signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN_S)
        yield
    finally:
        is_over = True  # first: a signal may still come until the timer has stopped
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        if collects:
            gc.enable()


def _plain(text: str) -> str:
    """Return a text with nothing in it that looks like a heading or is no text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _BLANK_LINES.sub("\n\n", _NOT_TEXT.sub(" ", text))
    return _LIKE_HEADING.sub(" ", text.strip("\n"))


def _opened_pdf(data: bytes) -> "PdfReader":
    if b"%PDF-" not in data[:_PDF_HEAD]:
        raise NoTextError("no PDF document, whatever its name says")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of each oddity
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PdfReadError

    reader = PdfReader(BytesIO(data), strict=False)
    try:
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
    except (DependencyError, NotImplementedError, PdfReadError):
        is_open = False
    if not is_open:
        raise NoTextError("it is encrypted")
    return reader


def _pages(data: bytes) -> Iterator[str]:
    """Yield the pages of a PDF document."""
    number = 0
    failure = ""
    unread: list[int] = []
    is_empty = True
    for number, page in enumerate(_opened_pdf(data).pages, 1):
        if number > _MAX_PAGES:
            raise NoTextError(f"it has more than {_MAX_PAGES:,} pages")
        try:
            text = _plain(page.extract_text())
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - as above; the other pages may be sound
            failure = type(error).__name__
            unread.append(number)
            continue
        if text.strip():
            is_empty = False
            yield f"# page {number}\n\n{text}\n"
    if not number:
        raise NoTextError("it has no pages")
    if is_empty and unread:
        raise NoTextError(f"its pages cannot be read ({failure})")
    if unread:
        pages = ", ".join(map(str, unread[:_MOST_NAMED]))
        more = f" and {len(unread) - _MOST_NAMED} more" if len(unread) > _MOST_NAMED else ""
        yield f"[not read: page {pages}{more} ({failure})]\n"


def _sections(data: bytes) -> Iterator[str]:
    """Yield the headings, paragraphs, rows of tables, text boxes and notes of a Word document.

    Its XML is walked here: python-docx passes over content controls, as a table of contents is one,
    and over what was inserted while changes were tracked.
    """
    _check_parts(data)
    import docx
    from docx.oxml import parse_xml
    from docx.text.paragraph import Paragraph

    document = docx.Document(BytesIO(data))
    notes = (  # read after the body: they may be damaged
        parse_xml(part.blob)
        for part in document.part.package.iter_parts()
        if part.partname in _NOTES
    )
    for block in chain.from_iterable(map(_blocks, chain((document.element.body,), notes))):
        if block.tag == _TABLE:
            for row in _nearest(block, _ROW):
                cells = (" ".join(_text_in(cell).split()) for cell in _nearest(row, _CELL))
                line = " | ".join(filter(None, cells))
                if line:
                    yield _plain(line) + "\n"
            continue
        text = _plain(_text_in(block))
        if not text.strip():
            continue
        style = Paragraph(block, document).style
        heading = _HEADING.match((style.name if style is not None else None) or "")
        if heading:
            level = min(max(int(heading[1] or 1), 1), 6)
            yield f"{'#' * level} {' '.join(text.split())}\n"
        else:
            yield text + "\n"


def _blocks(element: "BaseOxmlElement") -> Iterator["BaseOxmlElement"]:
    """Yield the paragraphs and tables below an element, and after each the text boxes in it."""
    for block in _nearest(element, _PARAGRAPH, _TABLE):
        yield block
        for box in block.iter(_TEXT_BOX):
            if not any(map(_is_gone, box.iterancestors(*_GONE, _ROW))):
                yield from _nearest(box, _PARAGRAPH, _TABLE)


def _nearest(element: "BaseOxmlElement", *tags: str) -> Iterator["BaseOxmlElement"]:
    """Yield the elements with these tags below an element, but none within another."""
    for child in element.iterchildren():
        if _is_gone(child):
            continue
        if child.tag in tags:
            yield child
        else:
            yield from _nearest(child, *tags)


def _is_gone(element: "BaseOxmlElement") -> bool:
    """Return whether nothing below an element is in the text."""
    return element.tag in _GONE or (element.tag == _ROW and element.find(_DELETED_ROW) is not None)


def _text_in(element: "BaseOxmlElement") -> str:
    """Return the text of a paragraph, or of a cell, as it reads when all changes are accepted."""
    return "".join(_characters(element))


def _characters(element: "BaseOxmlElement") -> Iterator[str]:
    for child in element.iterchildren():
        if child.tag == _TEXT:
            yield child.text or ""
        elif child.tag in _BLANKS:
            yield _BLANKS[child.tag]
        elif not _is_gone(child) and child.tag != _TEXT_BOX:
            yield from _characters(child)
            if child.tag in (_PARAGRAPH, _CELL):
                yield "\n"


def _check_parts(data: bytes) -> None:
    """Refuse what is no Word document, and one that unfolds to more than is reasonable."""
    if data.startswith(_OLE):
        raise NoTextError("it is encrypted, or of the old Word format")
    try:
        with zipfile.ZipFile(BytesIO(data)) as parts:
            listed = parts.infolist()
            if len(listed) > _MAX_PARTS:
                raise NoTextError(f"it has {len(listed):,} parts")
            if any(each.flag_bits & 1 for each in listed):
                raise NoTextError("it is encrypted")
            texts = [each for each in listed if each.filename.endswith((".xml", ".rels"))]
            if (
                sum(each.file_size for each in listed) > _MAX_UNPACKED
                or sum(each.file_size for each in texts) > _MAX_XML
            ):
                raise NoTextError("it unpacks to too much")
            if not any(each.filename == "[Content_Types].xml" for each in listed):
                raise NoTextError("no Word document, whatever its name says")
            if any(b"<!DOCTYPE" in parts.read(each) for each in texts):
                raise NoTextError("it declares XML entities")
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise NoTextError(f"no Word document, or a damaged one: {error}") from None


_PIECES: Final = {"pdf": _pages, "docx": _sections}
