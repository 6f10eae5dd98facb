import pytest

from engine.source.default_excludes import excluded_by_default


def why(
    name: str, siblings: tuple[str, ...] = (), *, in_root: bool = False, tracked: bool | None = None
) -> str | None:
    return excluded_by_default(
        name, siblings, is_in_root=in_root, has_tracked_files=lambda: tracked
    )


@pytest.mark.parametrize("name", [".git", "node_modules", "__pycache__", "x.egg-info", ".idea"])
@pytest.mark.parametrize("tracked", [True, False, None])
def test_what_tools_own_is_out_always(name: str, tracked: bool | None) -> None:
    assert why(name, tracked=tracked) is not None


@pytest.mark.parametrize("name", ["build", "dist", "target", "vendor", "venv", "coverage"])
def test_with_git_a_name_with_two_meanings_is_out_unless_tracked(name: str) -> None:
    assert why(name, tracked=False) is not None
    assert why(name, tracked=True) is None


@pytest.mark.parametrize(
    ("name", "marker", "other"),
    [
        ("target", "Cargo.toml", "package.json"),
        ("build", "CMakeLists.txt", "go.mod"),
        ("obj", "App.csproj", "App.c"),
        ("vendor", "go.mod", "README.md"),
        ("deps", "mix.exs", "Makefile"),
        ("bin", "App.sln", "setup.py"),
    ],
)
def test_without_git_a_file_of_the_tool_beside_it_decides(
    name: str, marker: str, other: str
) -> None:
    assert why(name, (marker,)) is not None
    assert why(name, (other,)) is None


def test_without_git_output_in_the_root_is_out() -> None:
    assert why("build", in_root=True) is not None
    assert why("build", in_root=False) is None
    assert why("vendor", in_root=True) is None


@pytest.mark.parametrize("name", ["bin", "deps", "lib", "third_party", "src", "test", "tmp", "env"])
def test_names_of_source_stay_in(name: str) -> None:
    assert why(name, in_root=True, tracked=False) is None
    assert why(name, in_root=True) is None


def test_git_is_asked_only_when_it_matters() -> None:
    def refuse() -> bool:
        raise AssertionError("the index was read")

    for name in ("src", "node_modules"):
        excluded_by_default(name, (), is_in_root=True, has_tracked_files=refuse)
