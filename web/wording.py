"""Numbers in words for people: counts, durations, sizes, shares, and the way to say a plural.

What there is to know about an answer, in the sentences that terminals and agents read.
"""

from engine.records import SearchAnswer

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_AGES = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000))
#: The larger units of what is told in another one, the largest first, with how many it has.
_LARGER = {
    "bytes": (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)),
    "ms": (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)),
    "s": (("d", 86_400), ("h", 3600), ("min", 60)),
}
_SINGULARS = {"days": "day", "jobs": "job", "processes": "process", "threads": "thread"}
_MOST_NAMED = 8  # of a list in a sentence
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def count(number: int, noun: str) -> str:
    """Give a number with its noun in the right form: ``1 file``, ``1,200 files``."""
    if number == 1:
        return f"1 {noun}"
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {plural}"


def duration(milliseconds: float) -> str:
    """Give a time with two or three digits: ``3.2 ms``, ``850 ms``, ``4.1 s``, ``2 min 05 s``."""
    if milliseconds < 9.95:
        return f"{milliseconds:.1f} ms"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def age(milliseconds: float) -> str:
    """Give a time in its largest unit alone: ``12 s``, ``5 min``, ``3 h``, ``2 d``."""
    for unit, length_ms in _AGES:
        if milliseconds >= length_ms:
            return f"{int(milliseconds // length_ms)} {unit}"
    return f"{max(int(milliseconds // 1000), 0)} s"


def ordinal(number: int) -> str:
    """Give a place in a row: ``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    ending = "th" if 10 < number % 100 < 20 else _ORDINALS.get(number % 10, "th")
    return f"{number:,}{ending}"


def size(number_of_bytes: int) -> str:
    """Give a size in decimal units: ``812 bytes``, ``1.4 MB``."""
    value = float(number_of_bytes)
    for unit in _UNITS[:-1]:
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"


def quantity(number: int, unit: str) -> str:
    """Give a number of a unit in its largest one: ``1 MiB``, ``1.5 s``, ``1 day``, ``14 days``."""
    for name, many in _LARGER.get(unit, ()):
        if number >= many:
            return f"{number / many:.1f}".removesuffix(".0") + f" {name}"
    return f"{number:,} {_SINGULARS.get(unit, unit) if number == 1 else unit}"


def percent(share: float) -> str:
    """Give a share as a percentage that reaches 100 and 0 only when it is all or nothing."""
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{share:.0%}".replace("%", " %")


def shortened(text: str) -> str:
    """Give a sentence that ends with a list with the first few of it, and how many are left."""
    names = text.split(", ")
    left = len(names) - _MOST_NAMED
    return text if left < 2 else f"{', '.join(names[:_MOST_NAMED])} and {left:,} more"


def notes_on(answer: SearchAnswer) -> list[str]:
    """Give the notes of an answer, and what its query names that is nowhere; not escaped."""
    notes = list(answer.notes)
    if answer.missing:
        nearest = "; what is found is the nearest" if answer.hits else ""
        notes.append(f"nothing that is indexed has {' or '.join(answer.missing)}{nearest}")
    return notes
