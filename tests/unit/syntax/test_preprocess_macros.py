"""Macros of C and C++ that the grammars cannot read."""

import pytest

from engine.syntax.preprocess import without_macros, without_specifiers


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\nclass EXPORTED Name : Base {\n", "\nclass          Name : Base {\n"),
        ("\nstruct ALIGNED(16) Name {\n", "\nstruct             Name {\n"),
        ("\nBEGIN_NAMESPACE\nint a;\n", "\n               \nint a;\n"),
        ("\nEXTERN int name(void);\n", "\n       int name(void);\n"),
        ("\nstatic inline FORCED(1) auto f() {}\n", "\nstatic inline           auto f() {}\n"),
        ("\nEXPORT template <class T>\n", "\n       template <class T>\n"),
        ("\n  PUBLIC_IN_TESTS:\n  int a;\n", "\n                  \n  int a;\n"),
        ("\n#if HAS(<a>) && \\\n    B\n", "\n#if 1            \n     \n"),
    ],
)
def test_macros_become_blanks(before: str, after: str) -> None:
    assert without_macros(before.encode()).decode() == after


@pytest.mark.parametrize(
    "text",
    [
        "\nclass Name {\n",
        "\nclass NAME {\n",
        "\nHANDLE open(int a);\n",
        "\nMAX_SIZE = 1;\n",
        "\nCALL(a, b);\n",
        "\n#if defined(A)\n#define B 1\n",
        "\nint a = SOME_VALUE;\n",
        "\n  case SOME_VALUE: return 1;\n",
        "",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert without_macros(text.encode()).decode() == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n  LIB_CONSTEXPR20 ~Name() {}\n", "\n                  ~Name() {}\n"),
        ("\nconstexpr LIB_INLINE Name(int a) {}\n", "\nconstexpr            Name(int a) {}\n"),
        ("\n#  define LIB_INLINE inline\n", "\n#  define LIB_INLINE inline\n"),
        ("\nint a;\n", "\nint a;\n"),
    ],
)
def test_specifiers_become_blanks(before: str, after: str) -> None:
    assert without_specifiers(before.encode()).decode() == after
