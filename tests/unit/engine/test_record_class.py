import copy
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Annotated, Any

import msgspec
import pytest

from engine.record_class import record, replaced


@record
class Place:
    """A place."""

    path: str
    line: Annotated[int, "from 1"] = 1
    marks: Mapping[str, int] = field(default_factory=dict)


@record
class NamedPlace(Place):
    """A place with a name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """What ``Place`` is like."""

    path: str
    line: Annotated[int, "from 1"] = 1
    marks: Mapping[str, int] = field(default_factory=dict)


@record
class Nothing:
    """Has no fields."""


def test_defaults_are_those_of_the_class() -> None:
    one, other = Place(path="a"), Place(path="b", line=7)

    assert (one.line, one.marks, other.line) == (1, {}, 7)
    assert one.marks is not other.marks
    assert NamedPlace(path="a", name="b", line=2) == NamedPlace(name="b", line=2, path="a")


@pytest.mark.parametrize("values", [{}, {"path": "a", "colour": 1}])
def test_wrong_arguments_are_refused(values: Mapping[str, Any]) -> None:
    for _ in range(2):  # the first time the function is made
        with pytest.raises(TypeError, match=r"Place\.__init__\(\)"):
            Place(**values)


def test_arguments_without_a_name_are_refused() -> None:
    with pytest.raises(TypeError):
        Place("a")  # type: ignore[call-arg]


def test_a_record_cannot_be_changed() -> None:
    place = Place(path="a")

    with pytest.raises(FrozenInstanceError):
        place.path = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del place.path
    with pytest.raises(FrozenInstanceError):
        place.colour = "b"  # type: ignore[attr-defined]
    assert not hasattr(place, "__dict__")


def test_it_is_as_other_dataclasses_are() -> None:
    place, plain = Place(path="a", line=3), Plain(path="a", line=3)

    assert repr(place) == repr(plain).replace("Plain", "Place")
    assert asdict(place) == asdict(plain)
    assert [each.name for each in fields(Place)] == [each.name for each in fields(Plain)]
    assert [each.type for each in fields(Place)] == [each.type for each in fields(Plain)]
    assert msgspec.json.encode(place) == msgspec.json.encode(plain)
    assert msgspec.convert({"path": "a", "line": 3}, Place) == place
    assert replace(place, line=4) == Place(path="a", line=4)


def test_equal_records_have_equal_hashes() -> None:
    one, other = NamedPlace(path="a", name="b"), NamedPlace(path="a", name="c")

    assert one != other
    assert one != Place(path="a")
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)  # for its mapping


def test_copies_are_equal() -> None:
    place = Place(path="a", marks={"x": 1})

    assert copy.copy(place) == copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place
    assert copy.deepcopy(place).marks is not place.marks


@pytest.mark.parametrize("name", ["__init__", "__post_init__", "__repr__", "__eq__", "__hash__"])
def test_a_method_that_would_be_lost_is_refused(name: str) -> None:
    own = type("Own", (), {"__annotations__": {"path": str}, name: lambda *_: None})

    with pytest.raises(TypeError, match=rf"Own cannot define .*{name}"):
        record(own)


def test_a_subclass_that_is_no_record_keeps_its_own_init() -> None:
    @record
    class Base:
        path: str

    class Named(Base):
        def __init__(self, name: str) -> None:
            super().__init__(path=f"of {name}")

    assert [Named("a").path, Named("b").path, Base(path="c").path] == ["of a", "of b", "c"]


def test_a_field_can_be_left_out_of_comparisons_and_of_the_text() -> None:
    @record
    class Noted:
        path: str
        note: str = field(default="", compare=False, repr=False)

    assert Noted(path="a", note="b") == Noted(path="a")
    assert hash(Noted(path="a", note="b")) == hash(Noted(path="a"))
    assert repr(Noted(path="a", note="b")).endswith("Noted(path='a')")


def test_a_copy_with_changes_is_that_of_dataclasses() -> None:
    place = NamedPlace(path="a", name="b", marks={"x": 1})
    assert replaced(place, line=3, name="c") == replace(place, line=3, name="c")
    assert type(replaced(place)) is NamedPlace
    assert replaced(place).marks is place.marks
    assert replaced(Nothing()) == Nothing()
    with pytest.raises(TypeError, match="NamedPlace has no field 'colour'"):
        replaced(place, colour=1)


def test_threads_that_make_a_record_for_the_first_time_at_once_all_get_one() -> None:
    @record
    class Place:
        path: str

    first_init: Any = Place.__init__  # as a thread has it that is overtaken by another one
    assert Place(path="a").path == "a"
    overtaken = object.__new__(Place)
    first_init(overtaken, path="b")
    assert overtaken == Place(path="b")
