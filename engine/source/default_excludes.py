"""Folders of generated or downloaded files, excluded unless the user asks for them.

Most are always excluded. Names that projects also use for their own source (``build``, ``vendor``)
are excluded unless git tracks a file in them. Without git they are excluded next to a file of the
tool that writes them (``target`` next to ``Cargo.toml``), and some when they lie directly in the
root.
"""

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

_VERSION_CONTROL: Final = "version control"
_DEPENDENCIES: Final = "dependencies"
_CACHE: Final = "cache"
_OUTPUT: Final = "build output"
_EDITOR: Final = "editor state"

#: Folders that are always excluded, and what they hold.
ALWAYS: Final[dict[str, str]] = {
    ".git": _VERSION_CONTROL,
    ".hg": _VERSION_CONTROL,
    ".svn": _VERSION_CONTROL,
    ".jj": _VERSION_CONTROL,
    ".bzr": _VERSION_CONTROL,
    ".sl": _VERSION_CONTROL,  # Sapling
    "CVS": _VERSION_CONTROL,
    "_darcs": _VERSION_CONTROL,
    "node_modules": _DEPENDENCIES,  # npm, yarn, pnpm
    "bower_components": _DEPENDENCIES,
    "jspm_packages": _DEPENDENCIES,
    ".pnpm-store": _DEPENDENCIES,
    ".yarn": _DEPENDENCIES,  # packages and yarn itself
    "Pods": _DEPENDENCIES,  # CocoaPods
    ".venv": _DEPENDENCIES,
    "site-packages": _DEPENDENCIES,
    "__pypackages__": _DEPENDENCIES,
    ".bundle": _DEPENDENCIES,  # Bundler
    ".terraform": _DEPENDENCIES,
    ".tox": _CACHE,
    ".nox": _CACHE,
    ".eggs": _DEPENDENCIES,
    "__pycache__": _CACHE,
    ".mypy_cache": _CACHE,
    ".pytest_cache": _CACHE,
    ".ruff_cache": _CACHE,
    ".hypothesis": _CACHE,
    ".pytype": _CACHE,
    ".pyre": _CACHE,
    ".ipynb_checkpoints": _CACHE,
    ".import_linter_cache": _CACHE,
    ".cache": _CACHE,
    ".gradle": _CACHE,
    ".parcel-cache": _CACHE,
    ".turbo": _CACHE,
    ".angular": _CACHE,
    ".sass-cache": _CACHE,
    ".nyc_output": _CACHE,
    ".terragrunt-cache": _CACHE,
    ".zig-cache": _CACHE,
    "zig-cache": _CACHE,
    ".ccls-cache": _CACHE,
    ".clangd": _CACHE,
    ".bloop": _CACHE,  # Scala
    ".metals": _CACHE,
    ".elixir_ls": _CACHE,
    ".lexical": _CACHE,
    ".dart_tool": _CACHE,
    ".scannerwork": _CACHE,
    ".direnv": _CACHE,
    ".devenv": _CACHE,
    ".next": _OUTPUT,
    ".nuxt": _OUTPUT,
    ".output": _OUTPUT,  # Nitro
    ".svelte-kit": _OUTPUT,
    ".docusaurus": _OUTPUT,
    ".vercel": _OUTPUT,
    ".netlify": _OUTPUT,
    ".serverless": _OUTPUT,
    ".aws-sam": _OUTPUT,
    ".expo": _OUTPUT,
    ".stack-work": _OUTPUT,  # Haskell
    "dist-newstyle": _OUTPUT,
    "zig-out": _OUTPUT,
    "DerivedData": _OUTPUT,  # Xcode
    ".idea": _EDITOR,
    ".vs": _EDITOR,
    ".fleet": _EDITOR,
    ".swiftpm": _EDITOR,
}

#: Suffixes of further folder names that are always excluded.
_ALWAYS_ENDINGS: Final[tuple[tuple[str, str], ...]] = (
    (".egg-info", "package metadata"),
    (".dist-info", "package metadata"),
    (".dSYM", _OUTPUT),
)

_SCRIPT_PROJECT: Final = ("package.json", "deno.json")
_PYTHON_PROJECT: Final = ("pyproject.toml", "setup.py", "setup.cfg")
_JVM_PROJECT: Final = (
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "build.sbt",
    "project.clj",
)
_NATIVE_PROJECT: Final = ("CMakeLists.txt", "meson.build", "configure.ac", "BUILD.bazel")
_DOTNET_PROJECT: Final = ("*.csproj", "*.fsproj", "*.vbproj", "*.vcxproj", "*.sln")


class OutputFolder(NamedTuple):
    """A folder that is excluded unless git tracks a file in it."""

    holds: str
    beside: tuple[str, ...]  # without git, excluded next to one of these; "*.x" is any such file
    in_root: bool = False  # without git, excluded directly in the root
    anywhere: bool = False  # without git, excluded everywhere


#: Folders that are excluded unless git tracks a file in them.
UNLESS_TRACKED: Final[dict[str, OutputFolder]] = {
    "build": OutputFolder(
        _OUTPUT,
        (*_SCRIPT_PROJECT, *_PYTHON_PROJECT, *_JVM_PROJECT, *_NATIVE_PROJECT, "pubspec.yaml"),
        in_root=True,
    ),
    "dist": OutputFolder(_OUTPUT, (*_SCRIPT_PROJECT, *_PYTHON_PROJECT, "*.cabal"), in_root=True),
    "out": OutputFolder(_OUTPUT, (*_SCRIPT_PROJECT, *_JVM_PROJECT, *_NATIVE_PROJECT), in_root=True),
    "target": OutputFolder(_OUTPUT, ("Cargo.toml", *_JVM_PROJECT), in_root=True),
    "obj": OutputFolder(_OUTPUT, _DOTNET_PROJECT),
    ".build": OutputFolder(_OUTPUT, ("Package.swift",)),
    "_build": OutputFolder(_OUTPUT, ("mix.exs", "dune-project", "conf.py", "rebar.config")),
    "coverage": OutputFolder("coverage report", _SCRIPT_PROJECT, in_root=True),
    "htmlcov": OutputFolder("coverage report", (), anywhere=True),
    "cmake-build-debug": OutputFolder(_OUTPUT, (), anywhere=True),
    "cmake-build-release": OutputFolder(_OUTPUT, (), anywhere=True),
    "venv": OutputFolder(_DEPENDENCIES, (), anywhere=True),  # tracked: Python's own Lib/venv
    "virtualenv": OutputFolder(_DEPENDENCIES, _PYTHON_PROJECT),
    "vendor": OutputFolder(_DEPENDENCIES, ("go.mod", "composer.json", "Gemfile", "Cargo.toml")),
    "Carthage": OutputFolder(_DEPENDENCIES, ("Cartfile",)),
}

#: Folders of source in most projects: excluded only next to these files, unless tracked.
ONLY_BESIDE: Final[dict[str, OutputFolder]] = {
    "bin": OutputFolder(_OUTPUT, _DOTNET_PROJECT),
    "deps": OutputFolder(_DEPENDENCIES, ("mix.exs", "rebar.config")),
}


def excluded_by_default(
    name: str,
    siblings: Collection[str],
    *,
    is_in_root: bool,
    has_tracked_files: Callable[[], bool | None],
) -> str | None:
    """Return why a folder is excluded by its name, or None.

    Args:
        name: The folder's name.
        siblings: The names beside it.
        is_in_root: Whether it lies directly in the root.
        has_tracked_files: Returns whether git tracks a file in it, None if it tracks none; only
            called when that matters.
    """
    holds = ALWAYS.get(name)
    if holds is None and "." in name:
        holds = next((held for end, held in _ALWAYS_ENDINGS if name.endswith(end)), None)
    if holds is not None:
        return f"{name}: {holds}"
    folder = UNLESS_TRACKED.get(name) or ONLY_BESIDE.get(name)
    if folder is None:
        return None
    is_tracked = has_tracked_files()
    if is_tracked:
        return None
    if is_tracked is False and name in UNLESS_TRACKED:
        return f"{name}: {folder.holds}, nothing in it is tracked by git"
    if folder.anywhere or (folder.in_root and is_in_root) or _is_beside(folder.beside, siblings):
        return f"{name}: {folder.holds}"
    return None


def _is_beside(markers: tuple[str, ...], siblings: Collection[str]) -> bool:
    return any(
        any(name.endswith(marker[1:]) for name in siblings)
        if marker[0] == "*"
        else marker in siblings
        for marker in markers
    )
