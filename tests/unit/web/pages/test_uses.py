"""Uses as shown: one row a line, by file, with the name marked and in sight."""

from engine.records import Coverage
from engine.reference_records import Certainty, FoundUses, Reference, Use
from web.pages.uses import TESTS, Here, ShownUses, request_of, shown_uses


def _use(path: str, line: int, column: int, text: str, use: Use = Use.CALL) -> Reference:
    return Reference(
        path=path,
        line=line,
        column=column,
        use=use,
        certainty=Certainty.NAME if path == "unsure.py" else Certainty.EXACT,
        symbol=None,
        text=text,
        is_test=False,
    )


def _shown(*uses: Reference, here: Here | None = None, role: str = "") -> ShownUses:
    found = FoundUses(
        references=uses,
        total=len(uses),
        uses={"call": len(uses)},
        in_tests=0,
        by_name=0,
        truncated=False,
        coverage=Coverage.of(files=1, found=1, embedded=1.0, complete=True),
    )
    return shown_uses(found, "name", role, here or Here("id"), lambda each: f"?uses={each}")


def test_uses_of_a_line_are_one_row() -> None:
    one = _use("a.py", 2, 8, "from x import name as name", Use.IMPORT)
    shown = _shown(one, _use("a.py", 2, 16, one.text, Use.USE), _use("a.py", 3, 1, "name()"))
    [file] = shown.files
    assert [(each.reference.line, each.roles) for each in file.lines] == [
        (2, "import, use"),
        (3, "call"),
    ]
    assert file.number == 3


def test_the_name_is_marked_as_a_whole_word() -> None:
    [file] = _shown(_use("a.py", 1, 1, "rename(name, $name, name_2)")).files
    parts = file.lines[0].parts
    assert "".join(part.text for part in parts) == "rename(name, $name, name_2)"
    assert [part.text for part in parts if part.is_name] == ["name"]
    assert parts[0].text == "rename("


def test_a_name_far_right_is_brought_into_sight() -> None:
    text = f"{'x' * 100} = name(1)"
    [wide] = _shown(_use("a.py", 1, 1, text)).files
    [narrow] = _shown(_use("a.py", 1, 1, text), here=Here("id", columns=30)).files
    assert wide.lines[0].parts[0].text == text[:103]
    assert narrow.lines[0].parts[0].text == f"…{'x' * 12} = "


def test_places_of_the_own_file_stay_on_the_page() -> None:
    here = Here("id", "a b.py", 4, 2)
    [own, other] = _shown(
        _use("a b.py", 4, 2, "name"), _use("c d.py", 5, 1, "name"), here=here
    ).files
    assert (own.lines[0].address, own.lines[0].is_here, own.lines[0].places) == (
        "#L4",
        True,
        ("4:2",),
    )
    assert other.lines[0].address == "/p/id/f/c%20d.py?lines=5-5#L5"
    assert other.lines[0].places == ()


def test_those_by_name_are_apart() -> None:
    shown = _shown(_use("a.py", 1, 1, "name"), _use("unsure.py", 1, 1, "name"))
    assert [file.path for file in shown.files] == ["a.py"]
    assert [file.path for file in shown.by_name] == ["unsure.py"]
    assert (shown.number, shown.by_name_shown) == (2, 1)


def test_filters_of_an_address() -> None:
    assert request_of("call", limit=5).use is Use.CALL
    assert request_of(TESTS, limit=5).in_tests
    unknown = request_of("<b>", limit=5, offset=10)
    assert (unknown.use, unknown.in_tests, unknown.offset) == (None, False, 10)
    whole, call = _shown(_use("a.py", 1, 1, "name"), role="call").roles
    assert (whole.is_active, call.is_active, call.address) == (False, True, "?uses=call")
