"""The stored form of a vector: two numbers a byte, and a checksum.

The checksum is the CRC-32 of the numbers. Only so is a flipped bit found whatever the model:
embedding again would need the model, may cost money, and rounds differently on another machine.

Without numpy and without SQLite, for those who need neither.
"""

from typing import Final, NamedTuple
from zlib import crc32

#: Bytes of the checksum at the end of a row.
SUM_BYTES: Final = 4


class StoredRows(NamedTuple):
    """Vectors in their stored form; see ``quantization``."""

    signs: list[bytes]  # dimension / 8 bytes each
    exact: list[bytes]  # four bits a number, and the checksum


def row_bytes_of(dimension: int) -> int:
    """Return the size of a stored vector: two numbers a byte, and the checksum."""
    return dimension // 2 + SUM_BYTES


def with_checksum(numbers: bytes) -> bytes:
    """Return the numbers of a vector, two a byte, with their checksum."""
    return numbers + crc32(numbers).to_bytes(SUM_BYTES, "little")


def has_valid_checksum(row: bytes) -> bool:
    """Return whether a stored row matches its checksum."""
    return crc32(row[:-SUM_BYTES]) == int.from_bytes(row[-SUM_BYTES:], "little")
