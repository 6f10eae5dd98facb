"""Numbers in words for people: counts, durations, sizes, shares, and the way to say a plural."""

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


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


def size(number_of_bytes: int) -> str:
    """Give a size in decimal units: ``812 bytes``, ``1.4 MB``."""
    value = float(number_of_bytes)
    for unit in _UNITS[:-1]:
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"


def percent(share: float) -> str:
    """Give a share as a percentage that reaches 100 and 0 only when it is all or nothing."""
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{share:.0%}".replace("%", " %")
