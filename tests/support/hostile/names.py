"""Names that a terminal, a shell, a page or a database could take for something else."""

import os

from tests.support.hostile.case import IS_INDEXED, Case, NotBuiltError, Place

_CODE = b"named = 1\n"

#: What is odd about them, and the names.
_NAMES: dict[str, tuple[bytes, ...]] = {
    "not utf-8": (b"caf\xe9.py", b"\xff\xfe\x80.py"),
    "encoded surrogate": (b"\xed\xa0\x80.py",),
    "newline": (b"first\nsecond.py",),
    "tab and other controls": (b"a\tb.py", b"a\rb.py", b"a\x1b[31mred\x07.py", b"\x7f.py"),
    "escapes that look like NUL": (b"a%00.py", b"a\\0.py", b"a\\x00.py"),
    "right to left": ("a\u202egpj.py".encode(), "\u2066\u2069\u200f.py".encode()),
    "emoji": ("\U0001f469\u200d\U0001f469\u200d\U0001f467.py".encode(),),
    "composed and decomposed": ("\u00e9.py".encode(), "e\u0301.py".encode()),
    "spaces and dots": (b" lead.py", b"...", b"a  b.py", b"\xc2\xa0.py"),
    "options": (b"-rf", b"--help.py", b"-.py"),
    "markup": (b"<img src=x onerror=alert(1)>.py", b"&lt;b&gt;.py", b"${7*7}{{7*7}}.py"),
    "quotes of sql": (b"'\";-- drop table files.py", b"`id`.py", b"$(id).py"),
    "encoded dots": (b"%2e%2e%2fetc.py", b"..%2f..py", b"\xc0\xae\xc0\xae.py"),
    "globs": (b"*.py", b"[a].py", b"?.py", b"a{b,c}.py", b"!a.py", b"#a.py"),
    "twins by case": (b"Twin.py", b"twin.py", b"TWIN.PY"),
    "backslashes and colons": (b"a\\b.py", b"C:\\a.py", b"a:b.py", b"nul.py", b"con.py"),
    "separators of lines": ("a\u2028b.py".encode(), "a\u0085b.py".encode(), b"a\x0bb\x0cc.py"),
    "dots in front": (b"...py", b"..py", b". .py"),
}
#: Endings that say no language.
_ODD_ENDINGS = (b"space.py ", b"dot.py.", b"tab.py\t", b"line.py\n")
#: Names without an ending that says a language: the first line does.
_SCRIPT = b"#!/usr/bin/env python3\n"


def _case(name: str, files: tuple[bytes, ...], right: frozenset[str] = IS_INDEXED) -> Case:
    shown = [os.fsdecode(file) for file in files]

    def build(place: Place) -> None:
        place.folder.mkdir(parents=True)
        for file in shown:
            try:
                place.write(file, _SCRIPT + _CODE)
            except OSError as error:
                raise NotBuiltError(f"{file!a}: {error.strerror}") from error
        missing = set(shown) - set(os.listdir(place.folder))
        if missing:
            raise NotBuiltError(f"the file system changes names: {sorted(missing)!a}")

    return Case(class_="names", name=name, build=build, expect=dict.fromkeys(shown, right))


def _folders(place: Place) -> None:
    for number, name in enumerate((b"caf\xe9", b"a\nb", b"-rf", b"\xf0\x9f\x92\xa9", b"a b")):
        try:
            place.write(f"{os.fsdecode(name)}/f{number}.py", _CODE)
        except OSError as error:
            raise NotBuiltError(f"{name!a}: {error.strerror}") from error


CASES = (
    *(_case(name, files) for name, files in _NAMES.items()),
    _case("odd endings", _ODD_ENDINGS),
    Case(
        class_="names",
        name="folders",
        build=_folders,
        expect={
            f"{os.fsdecode(name)}/f{number}.py": IS_INDEXED
            for number, name in enumerate(
                (b"caf\xe9", b"a\nb", b"-rf", b"\xf0\x9f\x92\xa9", b"a b")
            )
        },
    ),
)
