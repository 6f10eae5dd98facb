"""Signatures of Go are compared by how many parameters and results they have."""

import pytest

from engine.references.interfaces import is_alike


@pytest.mark.parametrize(
    ("signature", "other", "alike"),
    [
        ("func (a *A) Run(x int, y int) error", "Run(a, b int) error", True),
        ("func (a A) Run(f func(x, y int) error)", "Run(func(int, int) error)", True),
        ("func (a A) Run() (int, error)", "Run() (n int, err error)", True),
        ("func (a A) Run(x ...string)", "Run(x, y string)", False),
        ("func (a A) Run() error", "Run()", False),
        ("func (a A) Run(x map[string]int,", "Run(x, y int)", True),  # cut: nothing is known
        ("func (a A) Run(\n)", "Run()", True),
    ],
)
def test_signatures_are_compared(signature: str, other: str, alike: bool) -> None:
    assert is_alike(signature, other, "Run") is alike
