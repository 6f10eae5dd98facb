"""Which languages are read by a scanner of their own, and by which."""

from collections.abc import Callable

from engine.syntax.dockerfiles import entries_of_dockerfile
from engine.syntax.landmarks import entries_of_html
from engine.syntax.makefiles import entries_of_makefile
from engine.syntax.outline import Entry
from engine.syntax.sql import entries_of_sql
from engine.syntax.stylesheets import entries_of_stylesheet

#: A scanner finds the definitions of any text in time linear in its length.
SCANNERS: dict[str, Callable[[bytes], list[Entry]]] = {
    "css": entries_of_stylesheet,
    "dockerfile": entries_of_dockerfile,
    "html": entries_of_html,
    "less": entries_of_stylesheet,
    "makefile": entries_of_makefile,
    "scss": entries_of_stylesheet,
    "sql": entries_of_sql,
    "template": entries_of_html,
}
