"""Documents that are made to harm whoever reads them, and sound ones to compare with.

Each is built here, byte by byte or by the libraries that write such documents.
"""

import io
import zipfile
import zlib
from collections.abc import Callable, Sequence

import docx
from pypdf import PdfReader, PdfWriter

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(pages: Sequence[str]) -> bytes:
    """Make a PDF document with a line of text for each line of a page."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>"
        % (b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(len(pages))), len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, page in enumerate(pages):
        lines = b" ".join(b"(%s) Tj T*" % line.encode() for line in page.splitlines())
        objects += [_page(5 + 2 * number), _stream(b"BT /F1 12 Tf 14 TL 50 750 Td %s ET" % lines)]
    return pdf_of(objects)


def pdf_of(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Make a PDF document of its objects, of which the first is the catalogue."""
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R %s >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size, table, size, trailer, len(data))
    )


def word(*blocks: tuple[str, str]) -> bytes:
    """Make a Word document of paragraphs, each with the name of its style."""
    made = docx.Document()
    for style, text in blocks:
        made.add_paragraph(text, style=style)
    return _saved(made)


def word_with_table(rows: Sequence[Sequence[str]]) -> bytes:
    """Make a Word document of a table."""
    made = docx.Document()
    table = made.add_table(len(rows), len(rows[0]))
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    return _saved(made)


def _saved(made: "docx.document.Document") -> bytes:
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def _page(contents: int, more: bytes = b"") -> bytes:
    return (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] %s"
        b" /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % (more, contents)
    )


def _stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), more, data)


def _one_page(stream: bytes) -> bytes:
    kids = b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>"
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    return pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", kids, font, _page(5), stream])


def _tree(pages: bytes, more: Sequence[bytes] = ()) -> bytes:
    return pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", pages, *more])


def _word_parts(parts: dict[str, bytes], kept: bytes | None = None) -> bytes:
    """Return a Word document with some of its parts replaced or added."""
    source = zipfile.ZipFile(io.BytesIO(kept or word(("Normal", "Some text."))))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        for each in source.namelist():
            if each not in parts:
                target.writestr(each, source.read(each))
        for name, data in parts.items():
            target.writestr(name, data)
    return file.getvalue()


def _body(inside: str, before: str = "") -> bytes:
    return f"{_XML}{before}<w:document {_WORD}><w:body>{inside}</w:body></w:document>".encode()


def _word_body(inside: str, before: str = "") -> bytes:
    return _word_parts({"word/document.xml": _body(inside, before)})


def _encrypted_pdf() -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(["a secret plan"]))))
    writer.encrypt("correct horse", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def _encrypted_parts() -> bytes:
    data = bytearray(word(("Normal", "text")))
    at = 0
    while (at := data.find(b"PK\x01\x02", at)) >= 0:  # the central directory says so
        data[at + 8] |= 1
        at += 4
    return bytes(data)


def _laughs() -> str:
    entities = '<!ENTITY e0 "lol">' + "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12)
    )
    return f"<!DOCTYPE d [{entities}]>"


def _page_loop() -> bytes:
    """Pages whose tree contains itself."""
    return _tree(b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", [_KIDS % b"2 0 R"])


_KIDS = b"<< /Type /Pages /Parent 2 0 R /Kids [%s] /Count 1 >>"


def _deep_pages() -> bytes:
    """A tree of pages with 20,000 levels."""
    levels = [_KIDS % (b"%d 0 R" % (number + 4)) for number in range(20_000)]
    return _tree(b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", levels)


def _bomb(megabytes: int, layers: int) -> bytes:
    data = b" " * (megabytes << 20)
    for _ in range(layers):
        data = zlib.compress(data, 9)
    filters = b" ".join([b"/FlateDecode"] * layers)
    return _one_page(_stream(data, b"/Filter [%s]" % filters))


def _zip_bomb() -> bytes:
    return _word_parts({"word/media/image1.png": bytes(200 << 20)})


def _many_parts() -> bytes:
    return _word_parts({f"word/media/{number}.txt": b"x" for number in range(6000)})


#: Documents with no text to index, by name: how each is made, and a part of the reason.
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty.pdf": (lambda: b"", "the file is empty"),
    "empty.docx": (lambda: b"", "the file is empty"),
    "text.pdf": (lambda: b"plain words, whatever the name says\n", "no PDF document"),
    "text.docx": (lambda: b"plain words, whatever the name says\n", "no Word document"),
    "is-a-pdf.docx": (lambda: pdf(["text"]), "no Word document"),
    "is-word.pdf": (lambda: word(("Normal", "text")), "no PDF document"),
    "header-alone.pdf": (lambda: b"%PDF-1.7\n", "damaged"),
    "truncated.pdf": (lambda: pdf(["text"])[:150], "damaged"),
    "truncated.docx": (lambda: word(("Normal", "text"))[:2000], "no Word document, or a damaged"),
    "no-pages.pdf": (lambda: _tree(b"<< /Type /Pages /Kids [] /Count 0 >>"), "no pages"),
    "pictures.pdf": (lambda: pdf(["", ""]), "perhaps its pages are pictures"),
    "encrypted.pdf": (_encrypted_pdf, "encrypted"),
    "encrypted.docx": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000), "encrypted"),
    "encrypted-parts.docx": (_encrypted_parts, "encrypted"),
    "page-loop.pdf": (_page_loop, "damaged"),
    "deep-pages.pdf": (_deep_pages, "damaged"),
    "a-billion-pages.pdf": (
        lambda: _tree(b"<< /Type /Pages /Kids [] /Count 1000000000 >>"),
        "it has no pages",
    ),
    "bomb.pdf": (lambda: _bomb(400, 1), "its pages cannot be read"),
    "bomb-in-bomb.pdf": (lambda: _bomb(400, 2), "its pages cannot be read"),
    "deep-arrays.pdf": (lambda: _one_page(_stream(b"[" * 300_000)), "it"),
    "zip-bomb.docx": (_zip_bomb, "unpacks to too much"),
    "many-parts.docx": (_many_parts, "parts"),
    "billion-laughs.docx": (
        lambda: _word_body("<w:p><w:r><w:t>&e11;</w:t></w:r></w:p>", _laughs()),
        "XML entities",
    ),
    "reads-a-file.docx": (
        lambda: _word_body(
            "<w:p><w:r><w:t>&x;</w:t></w:r></w:p>",
            '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        ),
        "XML entities",
    ),
    "deep-xml.docx": (
        lambda: _word_body("<w:tbl><w:tr><w:tc>" * 50_000),
        "damaged",
    ),
    "not-word.docx": (lambda: _word_parts({"[Content_Types].xml": b"<a/>"}), "damaged"),
}
