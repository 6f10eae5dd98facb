"""Types of what stands before a dot: inferred from itself, and annotated in a base class."""

from collections.abc import Iterator

import pytest

from engine.project import Project
from engine.reference_records import ReferenceRequest
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_TREE = {
    "app/session.py": """class Session:
    def strip(self) -> "Session":
        return self

    def renew(self) -> "Session":
        return self


class Other:
    def strip(self):
        return None

    def renew(self):
        return None
""",
    "app/texts.py": """from app.session import Session


def of_text():
    s = "abc "
    s = s.strip()
    return s


def chained(text):
    return text.strip().strip()


def looped(lines):
    for line in lines:
        line = line.renew()


def annotated(session: Session):
    session = session.strip()
    return session


def two(session: Session):
    return session.strip().strip()


def constructed():
    first = Session()
    second = first.renew()
    return second.renew()
""",
    "app/base.py": """from app.session import Session


class Command:
    session: Session | None = None

    def __init__(self):
        self.backup: Session = Session()


class Middle(Command):
    pass
""",
    "app/check.py": """from app.base import Middle


class Check(Middle):
    def run(self):
        self.session.renew()
        self.backup.strip()
        self.unknown.renew()


class Alone:
    def run(self):
        self.session.renew()
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("types")
    tree = write_tree(folder / "tree", _TREE)
    with catalog_in(folder / "home") as catalog:
        project = catalog.create(str(tree))
        project.index()
        yield project


def _calls(project: Project, name: str) -> dict[tuple[str, int], str]:
    answer = project.references.find(ReferenceRequest(name=name))
    return {
        (each.symbol or "", each.line): each.certainty.value
        for each in answer.references
        if each.use.value == "call"
    }


def test_a_type_is_not_inferred_from_the_call_itself(project: Project) -> None:
    strips = _calls(project, "Session.strip")
    assert strips[("of_text", 6)] == "name"
    assert strips[("chained", 11)] == "name"
    assert strips[("annotated", 20)] == "likely"
    assert strips[("two", 25)] == "likely"
    renewals = _calls(project, "Session.renew")
    assert renewals[("looped", 16)] == "name"
    assert renewals[("constructed", 30)] == "likely"
    assert renewals[("constructed", 31)] == "likely"


def test_attributes_have_the_types_that_a_base_in_another_file_gives_them(
    project: Project,
) -> None:
    renewals = _calls(project, "Session.renew")
    assert renewals[("Check.run", 6)] == "likely"
    assert renewals[("Check.run", 8)] == "name"
    assert renewals[("Alone.run", 13)] == "name"
    assert _calls(project, "Session.strip")[("Check.run", 7)] == "likely"
    assert ("Check.run", 6) not in _calls(project, "Other.renew")
