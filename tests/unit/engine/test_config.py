"""Settings: arguments over environment over file over default."""

from pathlib import Path

import pytest

from engine.config import SETTINGS, load_config
from engine.errors import InvalidConfigError


def test_the_order_of_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_config(tmp_path).parse_timeout == 1000
    (tmp_path / "config.toml").write_text("parse_timeout = 2000\n")
    assert load_config(tmp_path).parse_timeout == 2000
    monkeypatch.setenv("CAIRN_PARSE_TIMEOUT", "3000")
    assert load_config(tmp_path).parse_timeout == 3000
    assert load_config(tmp_path, parse_timeout=4000).parse_timeout == 4000


def test_the_data_folder_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "x"))
    assert load_config().data_dir == tmp_path / "x"


@pytest.mark.parametrize(
    "text",
    [
        "workers = -1",
        "workers = 'many'",
        "speed = 1",
        "workers =",
        "workers = 1000",
        "model = 3",
        "model = ''",
    ],
)
def test_bad_settings_are_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(InvalidConfigError):
        load_config(tmp_path)


def test_defaults_are_inside_their_ranges() -> None:
    for setting in SETTINGS:
        default = setting.default
        size = len(default) if isinstance(default, str) else default
        assert setting.minimum <= size <= setting.maximum, setting.name
