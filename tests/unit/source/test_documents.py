"""The text of documents: by page and heading, within limits, and what has none."""

import gc
import io
import signal

import docx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from engine.records import Skip, SkipReason
from engine.source.content import Inspected, inspect
from engine.source.documents import (
    NoTextError,
    document_language,
    document_text,
    missing_package,
)
from engine.syntax.headings import headings_of
from tests.support.hostile.documents import HOSTILE, pdf, word, word_with_table

_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def test_pages_of_a_pdf_document() -> None:
    text = document_text(pdf(["Retries back off\nand stop", "", "The cache"]), "pdf").decode()
    assert text == "# page 1\n\nRetries back off\nand stop\n\n# page 3\n\nThe cache\n"
    symbols = headings_of(text.encode(), "pdf")
    assert [(each.name, each.kind, each.line_start) for each in symbols] == [
        ("page 1", "section", 1),
        ("page 3", "section", 6),
    ]


def test_headings_and_tables_of_a_word_document() -> None:
    made = word(
        ("Title", "The plan"),
        ("Normal", "We retry."),
        ("Heading 2", "Limits"),
        ("Normal", "Ten times."),
    )
    text = document_text(made, "docx").decode()
    assert text == "# The plan\n\nWe retry.\n\n## Limits\n\nTen times.\n"
    names = [each.qualified_name for each in headings_of(text.encode(), "docx")]
    assert names == ["The plan", "The plan.Limits"]
    table = document_text(word_with_table([["limit", "ten"], ["wait", "1 s"]]), "docx").decode()
    assert table == "limit | ten\n\nwait | 1 s\n"


def test_a_word_document_reads_as_it_is_shown() -> None:
    document = docx.Document()
    document.add_heading("The plan", 1)
    for xml in (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>In a control</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        "<w:p><w:r><w:t>We </w:t></w:r><w:ins><w:r><w:t>now </w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>never </w:delText></w:r></w:del>"
        "<w:smartTag><w:r><w:t>retry</w:t><w:tab/><w:t>twice</w:t></w:r></w:smartTag></w:p>",
        "<w:p><w:r><w:t>Before it</w:t><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r>"
        "<w:t>In a box</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>"
        "<w:p><w:r><w:t>In a box</w:t></w:r></w:p></w:txbxContent></mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>",
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>1</w:t></w:r></w:p></w:tc><w:sdt><w:sdtContent><w:tc>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>inner</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
        "<w:p><w:r><w:t>1</w:t></w:r></w:p></w:tc></w:sdtContent></w:sdt></w:tr></w:tbl>",
    ):
        root = f"<w:body {nsdecls('w')} xmlns:mc={_COMPATIBILITY!r}>{xml}</w:body>"
        document.element.body.extend(list(parse_xml(root)))
    made = io.BytesIO()
    document.save(made)
    assert document_text(made.getvalue(), "docx").decode() == (
        "# The plan\n\nIn a control\n\nWe now retry\ttwice\n\nBefore it\n\nIn a box\n\n"
        "1 | inner 1\n"
    )


_NOTE_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"


def _with_body(xml: str, notes: bytes | None = None) -> str:
    """Return the text of a Word document with this in its body, and with footnotes."""
    document = docx.Document()
    document.element.body.extend(list(parse_xml(f"<w:body {nsdecls('w')}>{xml}</w:body>")))
    if notes is not None:
        part = Part(PackURI("/word/footnotes.xml"), "application/xml", notes)
        document.part.relate_to(part, _NOTE_TYPE)
    made = io.BytesIO()
    document.save(made)
    return document_text(made.getvalue(), "docx").decode()


def test_damaged_notes_cost_the_notes_alone() -> None:
    body = "<w:p><w:r><w:t>The plan</w:t></w:r></w:p>"
    note = f"<w:footnotes {nsdecls('w')}>{body.replace('plan', 'note')}</w:footnotes>"
    assert _with_body(body, note.encode()) == "The plan\n\nThe note\n"
    assert _with_body(body, b"<w:footnotes") == (
        "The plan\n\n[the rest was not read: it is damaged (XMLSyntaxError)]\n"
    )


def test_what_was_deleted_while_changes_were_tracked_is_not_in_the_text() -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>In a box</w:t></w:r></w:p></w:txbxContent>"
    row = "<w:tr><w:trPr>{0}</w:trPr><w:tc><w:p><w:r><w:t>{1}</w:t></w:r></w:p></w:tc></w:tr>"
    rows = row.format('<w:cantSplit w:val="1"/>', "stays") + row.format("<w:del/>", "goes")
    assert _with_body(
        "<w:p><w:r><w:t>The plan</w:t></w:r></w:p>"
        f"<w:p><w:r><w:t>One</w:t></w:r><w:del><w:r>{box}</w:r></w:del></w:p>"
        f"<w:p><w:r><w:t>Two</w:t></w:r><w:ins><w:r>{box}</w:r></w:ins></w:p>"
        f"<w:tbl>{rows}</w:tbl>"
    ) == ("The plan\n\nOne\n\nTwo\n\nIn a box\n\nstays\n")


@pytest.mark.parametrize("language", ["pdf", "docx"])
def test_text_that_looks_like_a_heading_is_none(language: str) -> None:
    line = "# page 9"
    data = pdf([line]) if language == "pdf" else word(("Normal", f"first\n{line}"))
    text = document_text(data, language)
    assert b"\n # page 9" in text
    assert "page 9" not in [each.name for each in headings_of(text, language)]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_has_a_reason(name: str) -> None:
    make, reason = HOSTILE[name]
    language = document_language(name)
    assert language is not None
    found = inspect(name, make(), language)
    assert isinstance(found, Skip)
    assert (found.path, found.reason) == (name, SkipReason.NO_TEXT)
    assert reason in found.detail


def _read_in_part(data: bytes) -> str:
    """Read a PDF document in the least time in which this machine opens it, or up to twice that."""
    seconds = 0.1
    while True:
        try:
            return document_text(data, "pdf", cpu_s=seconds).decode()
        except NoTextError as error:
            if str(error) != "it takes too long":
                raise
            seconds *= 2


def test_what_is_read_until_the_time_is_up_is_kept() -> None:
    data = pdf([f"page of words number {number}\n" * 40 for number in range(3000)])
    before = signal.getsignal(signal.SIGPROF)
    text = _read_in_part(data)
    assert text.startswith("# page 1\n")
    assert text.endswith("[the rest was not read: it takes too long]\n")
    assert "# page 3000" not in text
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_nothing_is_collected_while_time_is_limited() -> None:
    limits: list[float] = []

    def collected(_phase: str, _info: dict[str, int]) -> None:
        limits.append(signal.getitimer(signal.ITIMER_PROF)[0])

    before = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(10)
    try:
        document_text(pdf(["the whole"]), "pdf")
        assert gc.isenabled()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)
    assert limits
    assert not any(limits)


def test_a_signal_too_late_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = signal.setitimer

    def set_late(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        if not seconds:
            signal.raise_signal(signal.SIGPROF)
        return real(which, seconds, interval)

    monkeypatch.setattr(signal, "setitimer", set_late)
    before = signal.getsignal(signal.SIGPROF)
    assert document_text(pdf(["the whole"]), "pdf") == b"# page 1\n\nthe whole\n"
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_a_huge_page_is_cut() -> None:
    data = pdf(["words " * 900_000])
    text = document_text(data, "pdf", cpu_s=600)
    assert len(text) < 5 << 20
    assert text.endswith(b"[the rest was not read: it is too long]\n")


def test_damage_behind_readable_pages_keeps_them() -> None:
    data = pdf(["first page", "second page"])
    damaged = data.replace(b"/Kids [4 0 R 6 0 R]", b"/Kids [4 0 R 9 0 R]")
    assert document_text(damaged, "pdf").startswith(b"# page 1\n\nfirst page\n")


def test_a_page_that_cannot_be_read_is_told() -> None:
    data = pdf(["first page", "second page", "third page"])
    at = data.index(b"/Length", data.index(b"7 0 obj"))
    text = document_text(data[:at] + b"/Filter /Unknown " + data[at:], "pdf").decode()
    assert "second page" not in text
    assert "# page 3\n\nthird page\n" in text
    assert text.endswith("[not read: page 2 (NotImplementedError)]\n")


def test_names_decide_what_is_a_document() -> None:
    names = ["a.pdf", "b/A.PDF", "a.docx", "a.doc", "a.pdf.txt", "pdf", "a.odt"]
    assert [document_language(name) for name in names] == [
        "pdf", "pdf", "docx", None, None, None, None,
    ]  # fmt: skip
    assert missing_package("pdf") == missing_package("docx") == ""


def test_a_pointer_to_a_document_is_none() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"
    found = inspect("a.pdf", pointer, "pdf")
    assert isinstance(found, Skip)
    assert found.reason is SkipReason.LFS_POINTER
    assert isinstance(inspect("a.pdf", pdf(["text"]), "pdf"), Inspected)
