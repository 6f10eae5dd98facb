"""Settings as a user changes them: config.toml keeps its comments, and nothing bad enters."""

import os
import threading
import tomllib
from pathlib import Path

import pytest

from engine.config import SETTINGS, Origin, load_config
from engine.errors import EngineError, InvalidConfigError, InvalidInputError, NotFoundError
from engine.settings import FIXED, GROUPS, Settings, SettingState, unknown_setting

COMMENTED = """\
# my settings
jobs = 2   # two are enough

workers = 1
"""


def _settings(folder: Path, **arguments: int | str) -> Settings:
    return Settings(load_config(folder, **arguments))


def _one(settings: Settings, name: str) -> SettingState:
    return next(each for each in settings.all() if each.name == name)


def test_every_setting_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(setting.name for setting in SETTINGS)
    assert set(FIXED) <= set(grouped)


def test_values_and_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text(COMMENTED)
    monkeypatch.setenv("CAIRN_WORKERS", "3")
    settings = _settings(tmp_path, port=0)
    jobs, workers, port = (_one(settings, name) for name in ("jobs", "workers", "port"))
    assert (jobs.value, jobs.origin, jobs.stored, jobs.default) == ("2", Origin.FILE, "2", "3")
    assert (workers.value, workers.origin, workers.stored) == ("3", Origin.ENVIRONMENT, "1")
    assert workers.is_overridden
    assert not workers.pending
    assert (port.origin, port.fixed != "") == (Origin.ARGUMENT, True)
    assert _one(settings, "editor").values[0] == "vscode"


def test_a_change_keeps_comments_and_waits_for_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(COMMENTED)
    file.chmod(0o640)
    settings = _settings(tmp_path)
    found = settings.change("jobs", " 4 ")
    assert (found.value, found.stored, found.pending) == ("2", "4", True)
    assert file.read_text() == COMMENTED.replace("jobs = 2 ", "jobs = 4 ")
    assert file.stat().st_mode & 0o777 == 0o640
    assert load_config(tmp_path).jobs == 4
    settings.change("editor", "zed")
    assert load_config(tmp_path).editor == "zed"
    settings.change("workers", None)
    assert file.read_text().startswith("# my settings\njobs = 4   # two are enough\n")
    assert "workers" not in tomllib.loads(file.read_text())
    settings.change("workers", None)  # again: nothing is there
    assert sorted(os.listdir(tmp_path)) == ["config.toml", "locks"]


def test_without_a_file_one_is_made(tmp_path: Path) -> None:
    found = _settings(tmp_path / "data").change("jobs", "1")
    assert found.stored == "1"
    assert (tmp_path / "data/config.toml").read_text() == "jobs = 1\n"
    assert (tmp_path / "data/config.toml").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("jobs", "65", InvalidConfigError),
        ("jobs", "-1", InvalidConfigError),
        ("jobs", "", InvalidConfigError),
        ("jobs", "1\nhost = '0.0.0.0'", InvalidConfigError),
        ("editor", "ed", InvalidConfigError),
        ("host", "0.0.0.0", InvalidInputError),
        ("port", "80", InvalidInputError),
        ("model", "none", InvalidInputError),
        ("host", None, InvalidInputError),
        ("data_dir", "/", NotFoundError),
        ("x\ny", "1", NotFoundError),
    ],
)
def test_what_is_refused_changes_nothing(
    tmp_path: Path, name: str, value: str | None, error: type[EngineError]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(COMMENTED)
    with pytest.raises(error):
        _settings(tmp_path).change(name, value)
    assert file.read_text() == COMMENTED


def test_a_damaged_file_is_said_and_kept(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    file = tmp_path / "config.toml"
    file.write_text("jobs = ")
    with pytest.raises(InvalidConfigError, match="cannot read"):
        settings.all()
    with pytest.raises(InvalidConfigError, match="cannot read"):
        settings.change("jobs", "2")
    assert file.read_text() == "jobs = "


def test_a_link_leads_to_the_file_that_is_changed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles/cairn.toml"
    real.write_text(COMMENTED)
    data = tmp_path / "data"
    data.mkdir()
    (data / "config.toml").symlink_to(real)
    _settings(data).change("jobs", "5")
    assert (data / "config.toml").is_symlink()
    assert "jobs = 5" in real.read_text()


def test_no_change_is_lost_among_threads(tmp_path: Path) -> None:
    names = ("jobs", "workers", "job_retention", "watch_debounce", "search_timeout")
    settings = _settings(tmp_path)
    threads = [
        threading.Thread(target=settings.change, args=(name, "60" if name != "jobs" else "6"))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(tomllib.loads((tmp_path / "config.toml").read_text())) == set(names)


def test_passwords_and_keys_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_TOKEN", "a-token-of-this-test")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = _settings(tmp_path, model="http:m@https://me:pass@host/v1?key=k")
    assert settings.secrets()["CAIRN_TOKEN"] is True
    assert settings.secrets()["OPENAI_API_KEY"] is False
    assert "pass" not in _one(settings, "model").value
    assert "key" not in _one(settings, "model").value


def test_an_unknown_setting_is_answered_with_the_closest() -> None:
    error = unknown_setting("worker")
    assert "did you mean 'workers'" in error.message
    assert error.details["field"] == "name"
