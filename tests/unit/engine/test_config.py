"""Settings: arguments over environment over file over default."""

from pathlib import Path

import pytest

from engine.config import (
    SETTINGS,
    Origin,
    Secret,
    changed_config,
    embedding_key,
    environment_of,
    load_config,
)
from engine.errors import InvalidConfigError
from engine.settings import Settings


def test_the_order_of_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_config(tmp_path).parse_timeout == 1000
    (tmp_path / "config.toml").write_text("parse_timeout = 2000\n")
    assert load_config(tmp_path).parse_timeout == 2000
    monkeypatch.setenv("CAIRN_PARSE_TIMEOUT", "3000")
    assert load_config(tmp_path).parse_timeout == 3000
    assert load_config(tmp_path, parse_timeout=4000).parse_timeout == 4000


def test_each_setting_says_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("jobs = 2\nworkers = 2\nport = 1\n")
    monkeypatch.setenv("CAIRN_WORKERS", "3")
    monkeypatch.setenv("CAIRN_PORT", "2")
    config = load_config(tmp_path, port=3)
    found = {name: config.origins[name] for name in ("jobs", "workers", "port", "model")}
    assert found == {
        "jobs": Origin.FILE,
        "workers": Origin.ENVIRONMENT,
        "port": Origin.ARGUMENT,
        "model": Origin.DEFAULT,
    }
    assert (config.jobs, config.workers, config.port) == (2, 3, 3)
    assert set(config.origins) == {setting.name for setting in SETTINGS} | {"data_dir"}
    assert config.origins["data_dir"] is Origin.ARGUMENT
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path))
    assert load_config().origins["data_dir"] is Origin.ENVIRONMENT
    changed = changed_config(config, {"jobs": 4})
    assert (changed.origins["jobs"], changed.origins["workers"]) == (
        Origin.ARGUMENT,
        Origin.ENVIRONMENT,
    )


def test_the_data_folder_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "x"))
    assert load_config().data_dir == tmp_path / "x"


def test_a_data_folder_of_a_user_who_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_HOME", "~no-such-user/x")
    with pytest.raises(InvalidConfigError, match="a home folder that is not known") as caught:
        load_config()
    assert caught.value.details["field"] == "data_dir"


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
        "device = 'gpu'",
        "allow_secret_files = 3",
        "allow_secret_files = ['*.pem', 3]",
    ],
)
def test_bad_settings_are_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(InvalidConfigError):
        load_config(tmp_path)


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ("allow_secret_files = ['*.pem', 'tests/keys/**']", ("*.pem", "tests/keys/**")),
        ("allow_secret_files = '*.pem,tests/keys/** , '", ("*.pem", "tests/keys/**")),
        ("allow_secret_files = []", ()),
        ("", ()),
    ],
)
def test_a_list_may_be_written_as_one_or_with_commas(
    tmp_path: Path, text: str, globs: tuple[str, ...]
) -> None:
    (tmp_path / "config.toml").write_text(text)
    config = load_config(tmp_path)
    assert config.allowed_secret_files == globs
    [state] = [each for each in Settings(config).all() if each.name == "allow_secret_files"]
    assert (state.value, state.stored or "", state.pending) == (", ".join(globs),) * 2 + (False,)
    assert environment_of(config)["CAIRN_ALLOW_SECRET_FILES"] == ", ".join(globs)


def test_the_globs_of_secret_files_come_from_the_environment_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_ALLOW_SECRET_FILES", ".env.test,*.key")
    assert load_config(tmp_path).allowed_secret_files == (".env.test", "*.key")


def test_defaults_are_inside_their_ranges() -> None:
    for setting in SETTINGS:
        default = setting.default
        size = len(default) if isinstance(default, str) else default
        assert setting.minimum <= size <= setting.maximum, setting.name


def test_a_key_goes_only_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CAIRN_EMBEDDING_KEY", "OPENAI_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    openai, voyage = "https://api.openai.com/v1", "https://api.voyageai.com/v1"
    others = [
        "http://127.0.0.1:8000/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com.evil.example/v1",
        "https://api.openai.com:8443/v1",
    ]
    assert not embedding_key(openai)
    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    monkeypatch.setenv("VOYAGE_API_KEY", " of-voyage\n")
    assert embedding_key(openai).reveal() == "of-openai"
    assert embedding_key(voyage).reveal() == "of-voyage"
    assert not any(embedding_key(url) for url in others)
    monkeypatch.setenv("CAIRN_EMBEDDING_KEY", "own")
    assert {embedding_key(url).reveal() for url in (openai, voyage, *others)} == {"own"}


def test_a_key_that_no_header_can_carry_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_EMBEDDING_KEY", "se\ncret")
    with pytest.raises(InvalidConfigError) as raised:
        embedding_key("http://127.0.0.1")
    assert "cret" not in str(raised.value.as_json())


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret("s3cret")
    assert "s3cret" not in f"{secret} {secret!r} {[secret]}"
    assert secret.blanked("it is s3cret.") == "it is …."
    assert Secret().blanked("as it is") == "as it is"


def test_settings_in_force_can_be_changed_by_name(tmp_path: Path) -> None:
    config = load_config(tmp_path, workers=3)
    changed = changed_config(config, {"search_timeout": "500", "model": "none"})
    assert (changed.search_timeout, changed.model, changed.workers) == (500, "none", 3)
    assert changed_config(config, {}) == config
    with pytest.raises(InvalidConfigError, match="unknown setting 'data_dir'"):
        changed_config(config, {"data_dir": "/"})
    with pytest.raises(InvalidConfigError, match="workers is 'x'"):
        changed_config(config, {"workers": "x"})


def test_what_is_promised_is_the_default() -> None:
    defaults = {setting.name: (setting.default, setting.unit) for setting in SETTINGS}
    assert defaults["jobs"] == (3, "jobs")
    assert defaults["job_retention"] == (7, "days")
    assert defaults["storage_patience"] == (600, "s")
    assert defaults["embedder_patience"] == (24 * 3600, "s")
    assert defaults["max_file_size"] == (1 << 20, "bytes")
    assert defaults["watch_debounce"] == (500, "ms")
    assert defaults["model"][0] == "static"
