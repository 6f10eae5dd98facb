"""Texts as their previews show them."""

from engine.browse_records import FileContent
from web.pages.previews import has_preview, preview_of


def content_of(text: str, path: str, language: str) -> FileContent:
    """Return a text as an index has it."""
    return FileContent(
        project="/tree",
        path=path,
        branch="",
        language=language,
        text=text,
        lines=text.count("\n"),
        size_bytes=len(text),
        sha256="",
        redactions=0,
        generated=False,
        licence=None,
        updated_at="",
    )


def previewed(text: str, path: str, language: str) -> str:
    """Return the HTML of a text that has a preview."""
    content = content_of(text, path, language)
    assert has_preview(content)
    return str(preview_of("p1", content))
