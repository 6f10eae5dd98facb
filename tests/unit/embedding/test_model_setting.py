"""The setting ``model``: what is read, and what is refused with the right form."""

import pytest

from engine.embedding.model_setting import Backend, parse_model_setting
from engine.errors import InvalidConfigError


@pytest.mark.parametrize(
    ("setting", "choice"),
    [
        ("static", (Backend.STATIC, "", "")),
        (" none ", (Backend.NONE, "", "")),
        ("onnx:BAAI/bge-small-en-v1.5", (Backend.ONNX, "BAAI/bge-small-en-v1.5", "")),
        ("onnx:/models/a:b@c", (Backend.ONNX, "/models/a:b@c", "")),
        ("openai:text-x", (Backend.OPENAI, "text-x", "https://api.openai.com/v1")),
        ("openai:m@http://[::1]:80", (Backend.OPENAI, "m", "http://[::1]:80/v1")),
        ("openai:a/b@https://h/api/", (Backend.OPENAI, "a/b", "https://h/api")),
        ("voyage:voyage-code-3", (Backend.VOYAGE, "voyage-code-3", "https://api.voyageai.com/v1")),
        ("ollama:bge-m3:latest", (Backend.OLLAMA, "bge-m3:latest", "http://127.0.0.1:11434")),
        ("tei:@http://127.0.0.1:8080/", (Backend.TEI, "", "http://127.0.0.1:8080")),
    ],
)
def test_forms(setting: str, choice: tuple[Backend, str, str]) -> None:
    assert parse_model_setting(setting) == choice
    assert parse_model_setting(parse_model_setting(setting).name) == choice


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("bert", "one of static; none; onnx:NAME"),
        ("BAAI/bge-small-en-v1.5", "onnx:BAAI/bge-small-en-v1.5"),
        ("http://127.0.0.1:8080", "one of static"),
        ("static:x", "write it as static"),
        ("none:", "write it as none"),
        ("onnx:", "write it as onnx:NAME"),
        ("openai:", "write it as openai:NAME"),
        ("openai:m@127.0.0.1:8080", "write it as openai:NAME or openai:NAME@URL"),
        ("openai:m@ftp://h", "openai:NAME@URL"),
        ("openai:m@http://", "openai:NAME@URL"),
        ("openai:m@http://h:x", "openai:NAME@URL"),
        ("openai:m@http://h y", "openai:NAME@URL"),
        ("tei:", "write it as tei:@URL"),
        ("tei:m@http://h", "write it as tei:@URL"),
        ("tei:http://h", "write it as tei:@URL"),
    ],
)
def test_what_is_refused_says_the_right_form(setting: str, hint: str) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        parse_model_setting(setting)
    assert hint in raised.value.hint
    assert raised.value.details["field"] == "model"


@pytest.mark.parametrize(
    "setting",
    [
        "openai:m@http://user:s3cret@h/v1",
        "openai:m@http://s3cret@h/v1",
        "tei:@https://h/?key=s3cret",
        "x:m@https://user:s3cret@h",
        "openai:m@ftp://user:s3cret@h",
    ],
)
def test_a_password_in_a_url_is_refused_and_not_repeated(setting: str) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        parse_model_setting(setting)
    assert "s3cret" not in str(raised.value.as_json())


def test_folders_are_told_from_names() -> None:
    folders = ["/a", "./a", "../a", "~/a"]
    assert all(parse_model_setting(f"onnx:{each}").is_folder for each in folders)
    assert not parse_model_setting("onnx:a/b").is_folder
