"""PDF and Word documents from the disk into the index and out again."""

import sys
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.project import Project
from engine.roots import project_id_of
from engine.search_records import Hit, SearchRequest
from tests.support.command import Command
from tests.support.hostile.documents import HOSTILE, pdf, word
from tests.support.oracle import check_sound
from tests.support.pages import Page
from tests.support.server import serving
from tests.support.trees import settle

KEY = "AKIA" + "Z7XQ4M2K9TBW3HJD"
MANUAL = pdf(
    ["Installing it", "The uploader", f"Retries double the pause\naws key {KEY}", "Limits"]
)
PLAN = word(
    ("Heading 1", "Quarterly plan"),
    *[("Normal", "The cache of answers becomes smaller, as was planned last year.")] * 40,
    ("Heading 2", "Risks of the cache"),
    *[("Normal", "Nothing else is known of this, and nobody has tried it so far.")] * 20,
    ("Normal", "A thundering herd may follow."),
)


@pytest.fixture
def project(catalog: Catalog, tree: Path) -> Project:
    (tree / "docs").mkdir(parents=True)
    (tree / "docs/manual.pdf").write_bytes(MANUAL)
    (tree / "plan.docx").write_bytes(PLAN)
    (tree / "main.py").write_text("def upload(file):\n    return file\n")
    settle(tree)
    project = catalog.create(str(tree))
    assert project.index().errors == ()
    return project


def best(project: Project, query: str) -> Hit:
    return project.search(SearchRequest(query=query)).hits[0]


def test_hits_name_the_page_or_the_heading(project: Project) -> None:
    hit = best(project, "retries double the pause")
    assert (hit.path, hit.language, hit.symbol, hit.kind) == (
        "docs/manual.pdf", "pdf", "page 3", "section",
    )  # fmt: skip
    assert hit.fresh is True
    assert "Retries double the pause" in hit.snippet
    hit = best(project, "thundering herd")
    assert (hit.path, hit.symbol) == ("plan.docx", "Quarterly plan.Risks of the cache")
    assert best(project, "/thundering \\w+/").path == "plan.docx"
    assert best(project, '"becomes smaller" lang:docx').path == "plan.docx"
    assert [each.name for each in project.outline("docs/manual.pdf")] == [
        "page 1", "page 2", "page 3", "page 4",
    ]  # fmt: skip


def test_secrets_are_blanked(project: Project, catalog: Catalog, tree: Path) -> None:
    text = project.browse.content("docs/manual.pdf").text
    assert "aws key ****" in text
    database = catalog.data_dir / f"{project_id_of(str(tree))}.db"
    assert KEY.encode() not in database.read_bytes()
    check_sound(database)


def test_why_and_pages_show_the_text(project: Project, catalog: Catalog, tree: Path) -> None:
    explanation = project.why("docs/manual.pdf")
    assert explanation.outcome == "indexed"
    assert str(explanation.facts["stored_as"]).startswith("its text by page or heading")
    assert explanation.facts["redactions"] == 1
    command = Command(home=catalog.data_dir, folder=tree, reads_here=True)
    with serving(command, str(tree), "--no-watch") as server, server.client() as client:
        address = f"/p/{project.project_id}/f/docs/manual.pdf"
        page = Page.of(client.get(address))
        assert "Retries double the pause" in page.text
        assert "page 3" in page.text


def test_a_changed_document_is_read_again(project: Project, tree: Path) -> None:
    (tree / "docs/manual.pdf").write_bytes(pdf(["Entirely different zebras"]))
    assert project.why("docs/manual.pdf").fresh is False
    report = project.index()
    assert (report.files_indexed, report.files_unchanged) == (1, 2)
    assert best(project, "zebras").symbol == "page 1"


def test_without_the_extra_documents_are_skipped_and_it_is_named(
    project: Project, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "late.pdf").write_bytes(pdf(["late"]))
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "pypdf", None)  # as if it were not installed
        foreseen = project.why("late.pdf")
        assert "codecairn[documents]" in foreseen.detail
        report = project.index()
        assert report.files_failed == 0
        explanation = project.why("late.pdf")
        assert (explanation.outcome, explanation.reason) == ("skipped", "missing_extra")
        assert "codecairn[documents]" in explanation.detail
        assert project.status().skips == {"missing_extra": 1}
    assert project.index().files_indexed == 1  # now it is there
    assert best(project, "late").path == "late.pdf"


def test_hostile_documents_end_in_their_reasons(catalog: Catalog, tree: Path) -> None:
    tree.mkdir(exist_ok=True)
    for name, (make, _) in HOSTILE.items():
        (tree / name).write_bytes(make())
    (tree / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    (tree / "sound.pdf").write_bytes(pdf(["sound words"]))
    project = catalog.create(str(tree))
    report = project.index()
    assert (report.files_indexed, report.files_failed) == (1, 0)
    skips = {each.path: each for each in project.browse.skips().skips}
    assert skips.pop("old.doc").reason == "binary"
    too_large = skips.pop("deep-pages.pdf")
    assert too_large.reason == "too_large"
    assert set(skips) == set(HOSTILE) - {"deep-pages.pdf"}
    for name, skip in skips.items():
        assert skip.reason == "no_text", name
        assert HOSTILE[name][1] in skip.detail
        assert project.why(name).reason == "no_text"
    again = project.index()
    assert (again.files_indexed, again.files_unchanged) == (0, 1)
    assert best(project, "sound").path == "sound.pdf"
