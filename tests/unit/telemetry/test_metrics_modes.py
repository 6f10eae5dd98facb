"""Questions are counted by names that the help of their measure tells."""

import re

from engine.search_records import Mode
from engine.telemetry.metrics import OTHER_QUESTIONS, Measure
from tests.support.command import ROOT


def test_all_names_of_questions_are_told() -> None:
    files = [file for room in ("engine", "web") for file in (ROOT / room).rglob("*.py")]
    counted = {
        name
        for file in files
        for name in re.findall(r'measured_search\("(\w+)"\)', file.read_text("utf-8"))
    }
    assert counted == set(OTHER_QUESTIONS)
    assert not counted & set(Mode)
    assert all(name in Measure.SEARCH_DURATION.value[3] for name in counted)
