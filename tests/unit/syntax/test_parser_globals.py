"""Global variables of C and C++, in all the forms in which they are declared."""

import pytest

from engine.syntax.parser import parse

_FORMS = {
    "count": "int count;",
    "limit": "static const int limit = 3;",
    "server": "struct server server;",
    "names": 'static const char *const names[] = { "a", "b" };',
    "month": 'const char * const month[] = {\n  "Jan"\n};',
    "grid": "static int grid[2][2] = { { 1, 2 }, { 3, 4 } };",
    "buffer": "char buffer[20];",
    "table": "static struct entry *table[8];",
    "head": "struct entry **head = 0;",
    "tail": "struct entry **tail;",
    "hook": "static int (*hook)(int) = 0;",
    "handler": "void (*handler)(void);",
    "handlers": "static int (*handlers[])(int) = { f };",
}
_WRAPPINGS = {
    "nothing": "{}\n",
    "one condition": "#ifdef A\n{}\n#endif\n",
    "a guard and a condition": "#ifndef H\n#define H 1\n#if A\n#else\n{}\n#endif\n#endif\n",
    "four": "#ifdef A\n#if B\n#elif C\n#if D\n{}\n#endif\n#endif\n#endif\n",
}


def _variables(text: str, language: str = "c") -> list[str]:
    symbols = parse(text.encode(), language, deadline_ms=600_000).symbols
    return [each.name for each in symbols if each.kind in {"variable", "constant"}]


@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize("wrapping", _WRAPPINGS.values(), ids=_WRAPPINGS)
def test_all_forms_are_found_in_all_conditions(wrapping: str, language: str) -> None:
    text = wrapping.format("\n".join(_FORMS.values()))
    assert _variables(text, language) == list(_FORMS)


def test_two_of_one_declaration_are_found() -> None:
    assert _variables("static int first, *second = 0, third[3];\n") == ["first", "second", "third"]


def test_what_is_defined_elsewhere_or_is_local_is_no_global() -> None:
    text = (
        "extern int elsewhere;\nextern int here = 1;\ntypedef int number;\n"
        "struct s { int field; };\nint f(int parameter) {\n#ifdef A\n  int local;\n"
        "  static int kept = 1;\n#endif\n  int b = 2;\n  return b;\n}\nstruct s;\nint g(void);\n"
    )
    assert _variables(text) == ["here"]


def test_of_a_declaration_and_a_definition_both_are_found() -> None:
    text = "static struct table all;\nint f(void) { return 1; }\nstatic struct table all = { f };\n"
    symbols = parse(text.encode(), "c", deadline_ms=600_000).symbols
    assert [(each.name, each.line_start) for each in symbols] == [("all", 1), ("f", 2), ("all", 3)]
    again = "int x = 1;\nint x = 2;\nint x;\n"
    assert _variables(again) == ["x"]


def test_those_in_unreadable_parts_are_found_where_they_are_static() -> None:
    text = "#ifdef A\nint f(void) {\n  int local = 2;\n  {\nstatic int kept[] = { 1 };\n#endif\n"
    parsed = parse(text.encode(), "c", deadline_ms=600_000)
    assert parsed.result == "errors"
    assert _variables(text) == ["kept"]


def test_namespaces_and_linkage_blocks_hold_globals_too() -> None:
    text = (
        "namespace a {\nint one = 1;\nnamespace {\nint two;\n}\n#ifdef A\nint three[2];\n"
        "#endif\n}\n"
        'extern "C" {\nint four;\n}\nextern "C" int five = 5;\nclass K { int field; };\n'
    )
    assert _variables(text, "cpp") == ["one", "two", "three", "four", "five"]


def test_templates_of_variables_are_found_at_every_level() -> None:
    text = (
        "template <class T> constexpr bool one = true;\nnamespace a {\n"
        "template <class T> inline constexpr int two{1};\n}\n"
        "template <class T> T f(T parameter) {\n  T local = 1;\n  return local;\n}\n"
    )
    assert _variables(text, "cpp") == ["one", "two"]


def test_namespaces_in_the_block_of_a_macro_hold_globals() -> None:
    text = "NS_BEGIN(std)\n{\nnamespace d {\nint one = 2;\ninline constexpr int two = 3;\n}\n}\n"
    assert _variables(text, "cpp") == ["one", "two"]


@pytest.mark.parametrize("count", [120, 20_000])
@pytest.mark.parametrize("value", ["", " = 1"])
def test_a_long_declaration_is_read_whole(count: int, value: str) -> None:
    names = [f"a{each}" for each in range(count)]
    text = f"int {', '.join(name + value for name in names)};\nint f(void) {{ return 1; }}\n"
    parsed = parse(text.encode(), "c", deadline_ms=60_000)
    assert parsed.result == "ok"
    assert {each.name for each in parsed.symbols} >= {*names[:100], "f"}


@pytest.mark.parametrize(
    "text",
    [
        (
            "#define ENTRY(type) \\\nstruct { \\\n\tstruct type *next;\t/* the next */ \\\n"
            "struct type **prev;\t/* of it */ \\\n}\nint g;\n"
        ),
        "OF(f, (a, b))\nchar *a;\nint b;\n{\n  return 1;\n}\nint g;\n",
        "int g;\nclass EXPORT K : public (L {\n  M() {}\n  int field;\n};\n",
    ],
)
def test_fields_of_unreadable_parts_and_old_parameters_are_no_globals(text: str) -> None:
    assert _variables(text) == ["g"]
