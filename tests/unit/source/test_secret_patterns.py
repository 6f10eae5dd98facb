import string

import pytest

from engine.source.secret_patterns import entropy, is_password, is_random
from tests.support.canaries import drawing

MIXED = string.ascii_letters + string.digits


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"", 0.0), (b"aaaa", 0.0), (b"abab", 1.0), (b"abcd", 2.0), (bytes(range(256)), 8.0)],
)
def test_entropy_is_that_of_shannon(value: bytes, expected: float) -> None:
    assert entropy(value) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("alphabet", "size", "share"),
    [
        ("0123456789abcdef", 16, 0.95),
        ("0123456789abcdef", 32, 0.99),
        (MIXED, 12, 0.9),
        (MIXED, 16, 0.95),
        (MIXED, 20, 0.98),
        (MIXED, 40, 0.99),
        (MIXED + "+/", 44, 0.99),
        (string.ascii_letters, 24, 0.9),
    ],
)
def test_nearly_all_drawn_values_look_drawn(alphabet: str, size: int, share: float) -> None:
    draw = drawing(size)
    found = sum(is_random(draw(alphabet, size).encode()) for _ in range(2000))
    assert found >= share * 2000


@pytest.mark.parametrize(
    "value",
    [
        b"kjoy3o1zeidquwy1398juxzldjlksahdk3",
        b"0b1f9c3e-7a52-4d1e-9a53-2f6c0d8e4b71",
        b"S3cr3tP4ssw0rdX9",
        b"dGhpcyBpcyBhIHNlY3JldCE=",
    ],
)
def test_values_like_keys_look_drawn(value: bytes) -> None:
    assert is_random(value)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"aaaaaaaaaaaaaaaaaaaa",
        b"correct-horse-battery-staple",
        b"oauth2AccessTokenUrl",
        b"application/vnd.api2+json",
        b"config/initializers/session_store",
        b"SessionTokenProviderV2",
        b"PASSWORD_RESET_TOKEN_1",
        b"sha256WithRSAEncryption",
        b"2024-01-31T23:59:59Z",
        b"1234567890123456",
        b"deadbeefdeadbeef",
        b"aaaaaaaabbbbbbbbccccdddd",
        b"abcdefabcdefabcdef",
        b"${SECRET_A1B2C3D4}",
        b"<a1B2c3D4e5F6g7H8>",
        b"{{a1B2c3D4e5F6g7H8}}",
        b"%(a1B2c3D4e5F6)s",
        b"^[A-Za-z0-9_-]{12,}$",
        b"f1(a1B2c3D4e5F6)",
        b"https://a1B2c3D4e5F6",
        b"your-a1B2c3D4e5F6g7",
        b"EXAMPLEa1B2c3D4e5F6",
        b"xxxxa1B2c3D4e5F6g7",
        b"arn:aws:kms:eu:1a2b3c4d",
    ],
)
def test_words_and_placeholders_do_not_look_drawn(value: bytes) -> None:
    assert not is_random(value)


def test_chosen_passwords_may_have_words_in_them() -> None:
    assert is_random(b"MyPassword2024!", chosen=True)
    assert not is_random(b"MyPassword2024!")
    assert not is_random(b"MyPassword2024", chosen=True)
    assert not is_random(b"MyPassword!!!!", chosen=True)
    assert not is_random(b"YourPassword2024!", chosen=True)


@pytest.mark.parametrize(
    "value", [b"hunter2", b"s3cr3t", b"p%40ss", b"123456", b"correcthorsebattery", b"a-b-c"]
)
def test_passwords_in_urls_are_told(value: bytes) -> None:
    assert is_password(value)


@pytest.mark.parametrize(
    "value",
    [
        *(b"password", b"PASS", b"x-oauth-basic", b"8080", b"xxxxxx", b"****", b"${PASS1}"),
        *(b"{pw1}", b"%s1%s", b"secretword", b"<password1>", b"your_password1", b"aaa"),
    ],
)
def test_samples_in_urls_are_no_passwords(value: bytes) -> None:
    assert not is_password(value)
