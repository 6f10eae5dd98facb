# ruff: noqa: RUF001 - texts in other scripts
import random
import subprocess
import sys

import pytest

from engine.records import SkipReason
from engine.source.encodings import decode

GERMAN = "# Prüft, ob die Größe der Datei größer als die zulässige Länge ist\nx = 1\n"
TEXTS = {
    "german": GERMAN,
    "french": "// Vérifie que la clé a été créée à temps; élève déjà très âgé\nint x;\n",
    "polish": "# Sprawdza, czy długość źródła jest większa niż dozwolona; żółć, gęś, łódź\n",
    "russian": "# Проверяет, что длина файла не больше допустимой\nx = 1  # переменная\n",
    "greek": "# Ελέγχει αν το μήκος του αρχείου είναι μεγαλύτερο από το όριο\n",
    "japanese": "# ファイルの長さが許容値より大きいかどうかを確認します。変数の値を設定する\n",
    "chinese": "// 检查文件的长度是否大于允许的最大值，并返回错误\nint x;\n",
    "taiwanese": "// 檢查檔案的長度是否大於允許的最大值，並傳回錯誤\nint x;\n",
    "korean": "// 파일의 길이가 허용된 값보다 큰지 확인합니다\nint x;\n",
}


def test_what_a_text_declares_is_tried_before_anything_is_guessed() -> None:
    code = (
        "import sys; from engine.source.encodings import decode\n"
        "data = '# coding: latin-1\\n# Größe der Datei, Länge, für Straßen\\n'.encode('latin-1')\n"
        "print(decode(data * 50)[1], 'charset_normalizer' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["iso8859-1", "False"]


@pytest.mark.parametrize(
    "text", [*TEXTS.values(), "plain\n", "a\rb\r", "a\r\nb", "x", "\t\f\n", "🙂"]
)
def test_utf8_stays_as_it_is(text: str) -> None:
    data = text.encode()
    decoded = decode(data)
    assert decoded == (data, "utf-8")
    assert decoded[0] is data


@pytest.mark.parametrize("text", [GERMAN, TEXTS["japanese"], "x", "a\rb\r\nc\n"])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8-sig", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("utf-32-be", b"\0\0\xfe\xff"),
    ],
)
def test_a_byte_order_mark_says_the_encoding(text: str, encoding: str, mark: bytes) -> None:
    data = mark + text.encode(encoding.removesuffix("-sig"))
    assert decode(data) == (text.encode(), encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_told_by_its_nuls(encoding: str) -> None:
    assert decode(GERMAN.encode(encoding)) == (GERMAN.encode(), encoding)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("german", "cp1252"),
        ("french", "cp1252"),
        ("polish", "cp1250"),
        ("russian", "cp1251"),
        ("russian", "koi8-r"),
        ("greek", "cp1253"),
        ("japanese", "cp932"),
        ("japanese", "euc_jp"),
        ("chinese", "gb18030"),
        ("taiwanese", "big5"),
        ("korean", "cp949"),
    ],
)
@pytest.mark.parametrize("times", [1, 1000])
def test_older_encodings_are_guessed(name: str, encoding: str, times: int) -> None:
    text = TEXTS[name] * times
    assert decode(text.encode(encoding)) == (text.encode(), encoding)


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_long_line_is_guessed_by_what_stands_around_its_letters(end: str) -> None:
    filler = "a = 1; " * 300_000
    text = f"{filler}{TEXTS['polish'] * 20}{end}{filler}"
    assert decode(text.encode("cp1250")) == (text.encode(), "cp1250")


def test_a_few_accents_are_western() -> None:
    text = "def f():\n    return 1\n" * 200 + "# café\n"
    assert decode(text.encode("latin-1")) == (text.encode(), "cp1252")


@pytest.mark.parametrize(
    ("line", "encoding"),
    [
        ("# -*- coding: iso-8859-2 -*-", "iso8859-2"),
        ("# vim: set fileencoding=cp852 :", "cp852"),
        ("<?xml version='1.0' encoding='ISO-8859-2'?>", "iso8859-2"),
    ],
)
def test_what_a_file_says_of_itself_is_believed(line: str, encoding: str) -> None:
    text = f"{line}\n{TEXTS['polish']}"
    assert decode(text.encode(encoding)) == (text.encode(), encoding)


@pytest.mark.parametrize("claim", ["utf-7", "rot13", "unicode_escape", "zlib", "no-such", "utf-8"])
def test_a_false_claim_is_not_believed(claim: str) -> None:
    text = f"# coding: {claim}\n{GERMAN}"
    assert decode(text.encode("cp1252")) == (text.encode(), "cp1252")


def test_damaged_utf8_is_repaired() -> None:
    data = (TEXTS["russian"] * 3).encode() + b"\xed\xa0\x80 \xff end"
    decoded = decode(data)
    assert isinstance(decoded, tuple)
    assert decoded[1] == "utf-8"
    assert decoded[0].decode() == TEXTS["russian"] * 3 + "\ufffd\ufffd\ufffd \ufffd end"


def test_a_lone_surrogate_in_utf16_is_replaced() -> None:
    data = b"\xff\xfe" + "ab".encode("utf-16-le") + b"\x00\xd8" + "cd".encode("utf-16-le")
    decoded = decode(data)
    assert isinstance(decoded, tuple)
    assert decoded[0].decode().startswith("ab\ufffd")


BINARY = {
    "nul": b"text\0text",
    "zeros": bytes(100),
    "pdf": b"%PDF-1.7\n% only ascii follows\n1 0 obj\n",
    "png": b"\x89PNG\r\n\x1a\nIHDR",
    "gzip": b"\x1f\x8b\x08abc",
    "zip": b"PK\x03\x04abc",
    "elf": b"\x7fELFabc",
    "jpeg": b"\xff\xd8\xff\xe0JFIF",
    "controls": b"a\x01b\x02c\x03" * 100,
    "controls after a mark": b"\xef\xbb\xbf" + b"\x01\x02\x03" * 10,
    "half a character of utf-16": GERMAN.encode("utf-16-le")[:-1],
    "utf-32 without a mark": GERMAN.encode("utf-32-le"),
    "random": random.Random(1).randbytes(5000),
    "random without nul": random.Random(2).randbytes(5000).replace(b"\0", b""),
    "many late nuls": b"text\n" * 2000 + b"\0" * 100,
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_files_are_told_apart(name: str) -> None:
    assert decode(BINARY[name]) is SkipReason.BINARY


def test_a_few_late_nuls_stay() -> None:
    data = b"text\n" * 4000 + b"\0\n"
    assert decode(data) == (data, "utf-8")


@pytest.mark.parametrize("text", ["\x1b[31mred\x1b[0m\n" * 50, "N\bNA\bAM\bME\bE " * 99])
def test_terminal_output_is_text_when_it_is_mostly_words(text: str) -> None:
    data = (text + "ordinary words in a log " * 20).encode()
    assert decode(data) == (data, "utf-8")


def test_bytes_that_no_encoding_fits_are_undecodable() -> None:
    source = random.Random(3)
    data = bytes(source.choice([*range(0x80, 0x100)]) for _ in range(4000))
    assert decode(data) is SkipReason.UNDECODABLE
