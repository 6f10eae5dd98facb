"""Ignore files that are broken, huge, or meant to make a matcher slow."""

from collections.abc import Callable

from engine.records import SkipReason
from tests.support.hostile.case import IS_INDEXED, Case, Place, one_of

_IGNORED = one_of(SkipReason.IGNORED)
_MEGABYTE = 1 << 20
_MANY = 10_000
_LEVELS = 50

#: Files of each case: what the rules have to say about them.
_IN = "kept.py"
_OUT = "left/out.py"
_LAST = b"\nleft/\n"


def _chain() -> bytes:
    """Eleven stars over folders: what a naive matcher tries, it tries four times a step."""
    return b"a/**/" + b"b/**/" * 11 + b"c\n" + b"**/" * 200 + b"no\n"


def _rule_of(number: int) -> bytes:
    return b"[%c-%c][!a-y]*?[[:digit:]]x%d\n" % (97 + number % 13, 110 + number % 13, number)


def _classes() -> bytes:
    return b"".join(map(_rule_of, range(_MANY)))


def _class_runs() -> bytes:
    """Rules that spell out nothing that a name could be looked up by."""
    rules = []
    for number in range(_MANY):
        digits = f"{number:05}"
        rules.append("".join(f"[{chr(98 + int(digit))}-z]" for digit in digits) + "*[!.-z]\n")
    return "".join(rules).encode()


def _negations() -> bytes:
    return b"*.py\n!*.py\n" * 2_000 + b"k*\n!kept.py\n"


def _megabyte() -> bytes:
    lines = b"".join(b"generated-%d-*.tmp\n" % number for number in range(60_000))
    return lines[:_MEGABYTE]


def _stars() -> bytes:
    return (
        b"".join(b"*a*b*c*d*e*f*g*%d\n" % number for number in range(500)) + b"*" * 4_000 + b"x\n"
    )


#: What makes each ignore file; a last line that ignores a folder is added.
RULES: dict[str, Callable[[], bytes]] = {
    "chain of double stars": _chain,
    "class that ends in an escape": lambda: b"[a-\\]]\n[\n[]\n[!]\n[[:nope:]]\n[z-a]\n",
    "lone backslash": lambda: b"\\\nkept.py\\\n\\\\\\\n",
    "lone negation": lambda: b"!\n!!\n! \n#\n\\#\n",
    "a megabyte": _megabyte,
    "ten thousand classes": _classes,
    "ten thousand runs of classes": _class_runs,
    "chain of negations": _negations,
    "byte order mark": lambda: b"\xef\xbb\xbf# a comment\n\xef\xbb\xbf\n",
    "nul and other bytes": lambda: b"kept\0.py\nx\xff\xfe*\n\x80[\x81-\x83]\r\n",
    "stars without end": _stars,
    "slashes": lambda: b"/\n//\n///kept.py\n./kept.py\n../kept.py\n",
    "a line of a megabyte": lambda: b"[" * _MEGABYTE + b"\n",
}


def _case(name: str, rules: Callable[[], bytes]) -> Case:
    def build(place: Place) -> None:
        place.write(".gitignore", rules() + _LAST)
        place.write(_IN, "kept = 1\n")
        place.write(_OUT, "out = 1\n")

    return Case(
        class_="ignore_rules", name=name, build=build, expect={_IN: IS_INDEXED, _OUT: _IGNORED}
    )


def _nested(place: Place) -> None:
    """Each level takes back what the one above says, and says something new."""
    folder = ""
    for level in range(_LEVELS):
        place.write(f"{folder}.gitignore", f"out{level}.py\n!out{level - 1}.py\n")
        place.write(f"{folder}out{level}.py", "out = 1\n")
        folder += "d/"
    place.write(f"{folder}out{_LEVELS - 2}.py", "back = 1\n")
    place.write(f"{folder}out{_LEVELS - 1}.py", "out = 1\n")


CASES = (
    *(_case(name, rules) for name, rules in RULES.items()),
    Case(
        class_="ignore_rules",
        name="fifty levels",
        build=_nested,
        expect={
            "out0.py": _IGNORED,
            "d/" * _LEVELS + f"out{_LEVELS - 2}.py": IS_INDEXED,
            "d/" * _LEVELS + f"out{_LEVELS - 1}.py": _IGNORED,
        },
    ),
)
