"""Addresses that open a file in an editor of this machine.

The one place where an address has a scheme other than this server's. The path is one that the
index has checked, and each of its bytes that could mean something in an address is escaped.
"""

import os
from typing import NamedTuple
from urllib.parse import quote

from engine.errors import EngineError
from engine.index import Index
from web.security.serving import Serving

#: Names, and addresses with a path and a line, by the values of the setting ``editor``.
_EDITORS = {
    "vscode": ("VS Code", "vscode://file{path}:{line}"),
    "vscodium": ("VSCodium", "vscodium://file{path}:{line}"),
    "cursor": ("Cursor", "cursor://file{path}:{line}"),
    "zed": ("Zed", "zed://file{path}:{line}"),
    "idea": ("IDEA", "idea://open?file={path}&line={line}"),
    "sublime": ("Sublime Text", "subl://open?url=file://{path}&line={line}"),
}


class EditorLink(NamedTuple):
    """What opens a file in an editor."""

    name: str  # of the editor
    address: str  # ends with the number of the line


def editor_link(serving: Serving, index: Index, path: str, line: int) -> EditorLink | None:
    """Give what opens a file; None when no editor is wanted, or the file is not on this machine.

    Args:
        serving: Whose visitors are on this machine when it listens on loopback alone.
        index: The project.
        path: Of an indexed file.
        line: 1-based.
    """
    if serving.editor not in _EDITORS or not serving.is_loopback:
        return None
    try:
        place = index.browse.folders.place(path)
    except EngineError:
        return None
    return None if place is None else link_to(serving.editor, place, line)


def link_to(editor: str, place: str, line: int) -> EditorLink:
    """Give the address of an absolute path in an editor.

    Args:
        editor: A value of the setting, ``none`` excepted.
        place: As the disk spells it.
        line: 1-based.
    """
    name, form = _EDITORS[editor]
    path = "/" + quote(os.fsencode(place).lstrip(b"/"), safe="/")
    return EditorLink(name, form.format(path=path, line=line))
