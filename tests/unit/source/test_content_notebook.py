import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.records import Skip, SkipReason
from engine.source.content import Inspected, inspect, notebook_text
from tests.support.notebooks import PICTURE, cell, notebook


def _text(source: str) -> str | None:
    found = notebook_text(source.encode())
    return None if found is None else found.decode()


def test_cells_without_outputs() -> None:
    source = notebook(
        [
            cell("markdown", "# Sales\n\nHow they *grew*.\n"),
            cell("code", "import csv\n\ndef load():\n    return 'é'\n"),
            cell("code", "\n\n"),
            cell("raw", "kept as it is"),
        ]
    )
    assert _text(source) == (
        "# %% [markdown] cell 1\n# Sales\n\nHow they *grew*.\n"
        "\n# %% [python] cell 2\nimport csv\n\ndef load():\n    return 'é'\n"
        "\n# %% [raw] cell 4\nkept as it is\n"
    )


def test_the_kernel_tells_the_language() -> None:
    code = [cell("code", "x")]
    assert _text(notebook(code, language="R")) == "# %% [r] cell 1\nx\n"
    assert _text(notebook(code, language="a b\n")) == "# %% [python] cell 1\nx\n"
    whole = {"cells": code, "metadata": {"kernelspec": {"language": "julia"}}}
    assert _text(json.dumps(whole)) == "# %% [julia] cell 1\nx\n"


def test_the_format_before() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Part"},
        {"cell_type": "code", "input": ["a = 1\n", "b = 2"], "language": "ruby", "outputs": []},
    ]
    source = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}, {"cells": []}]})
    assert _text(source) == "# %% [markdown] cell 1\n## Part\n\n# %% [ruby] cell 2\na = 1\nb = 2\n"


def test_pictures_in_prose_are_left_out() -> None:
    prose = f"![plot](data:image/png;base64,{PICTURE}) and data:text/plain;base64,QUJD stays"
    found = _text(notebook([cell("markdown", prose, attachments={"a": PICTURE})]))
    assert found is not None
    assert "![plot](data:image/png;base64,) and data:text/plain;base64,QUJD stays" in found
    assert PICTURE not in found


def test_line_ends_nulls_and_half_pairs() -> None:
    source = (
        '{"cells": [{"cell_type": "code", "source": "a\\r\\nb\\u0000c \\ud800 \\ud83d\\ude00"}]}'
    )
    assert _text(source) == "# %% [python] cell 1\na\nbc ? \U0001f600\n"


@pytest.mark.parametrize(
    "source",
    [
        "",
        "{",
        "[]",
        "7",
        '"cells"',
        "null",
        "{}",
        '{"cells": 7}',
        '{"cells": {"a": []}}',
        '{"worksheets": [7, {"cells": null}]}',
        "[" * 200_000,
        '{"cells": ' * 100_000,
        '{"cells": [' + "9" * 100_000 + "]}",
    ],
)
def test_what_is_no_notebook_is_left_alone(source: str) -> None:
    assert notebook_text(source.encode()) is None
    found = inspect("a.ipynb", source.encode(), "jupyter")
    if isinstance(found, Inspected):
        assert found.text == source.encode()
    else:
        assert found.reason is SkipReason.MINIFIED


@pytest.mark.parametrize(
    "entry",
    [
        "7",
        "null",
        "[]",
        "{}",
        '{"cell_type": "code"}',
        '{"cell_type": 7, "source": "a"}',
        '{"cell_type": [], "source": "a"}',
        '{"cell_type": "code", "source": 7}',
        '{"cell_type": "code", "source": [7, null]}',
        '{"cell_type": "unknown", "source": "a"}',
    ],
)
def test_cells_of_wrong_types_are_passed_over(entry: str) -> None:
    source = f'{{"metadata": [], "cells": [{entry}, {{"cell_type": "raw", "source": "kept"}}]}}'
    assert _text(source) == f"# %% [raw] cell {1 if entry in {'7', 'null', '[]'} else 2}\nkept\n"


def test_a_notebook_on_one_line_is_not_minified_but_other_json_is() -> None:
    cells = [cell("code", f"value_{n} = {n}\n") for n in range(50)]
    line = json.dumps(json.loads(notebook(cells)))
    found = inspect("a.ipynb", line.encode(), "jupyter")
    assert isinstance(found, Inspected)
    assert found.text.count(b"# %% [python] cell ") == 50
    broken = inspect("a.ipynb", line[:-10].encode(), "jupyter")
    assert isinstance(broken, Skip)
    assert broken.reason is SkipReason.MINIFIED


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["cells", "worksheets", "cell_type", "source", "input", "language", "metadata"]
            ),
            inner | st.sampled_from(["code", "markdown", "heading"]),
            max_size=4,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=200)
@given(_JSON)
def test_any_json_gives_text_or_nothing(value: object) -> None:
    found = notebook_text(json.dumps(value).encode())
    if found is not None:
        found.decode()
        assert b"\0" not in found
