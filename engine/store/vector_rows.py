"""How large a stored vector is; apart from ``quantize``, which imports numpy."""

#: What the sum at the end of a row takes.
SUM_BYTES = 4


def row_bytes_of(dimension: int) -> int:
    """Give the size of a stored vector: two numbers a byte, and the sum."""
    return dimension // 2 + SUM_BYTES
