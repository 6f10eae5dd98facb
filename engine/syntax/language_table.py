"""Table of languages: names, files, comments, grammar and visibility.

Data only; ``languages`` has the functions.
"""

from typing import NamedTuple


class CommentStyle(NamedTuple):
    """The comment syntax of a language."""

    line: tuple[bytes, ...]  # markers of comments that end with their line
    block: tuple[tuple[bytes, bytes], ...]  # opening and closing
    closings: tuple[bytes, ...]  # of the blocks


class Grammar(NamedTuple):
    """A grammar and the queries for its trees."""

    module: str  # imported on first use: twenty grammars cost memory and time
    function: str
    queries: tuple[str, ...]  # files in queries/, read one after the other
    visibility_rule: str  # its name in symbols.RULES
    merges_clauses: bool = False  # neighbouring definitions of one name are one function


class Language(NamedTuple):
    """A language or document type."""

    name: str
    family: str  # "code", "document" or "data"
    comments: CommentStyle
    extensions: tuple[str, ...]  # lower case, with the dot
    filenames: tuple[str, ...] = ()  # lower case, whole basenames
    interpreters: tuple[str, ...] = ()  # as a shebang names them, without version
    aliases: tuple[str, ...] = ()  # other names that people use
    grammar: Grammar | None = None


def _style(line: tuple[bytes, ...], block: tuple[tuple[bytes, bytes], ...] = ()) -> CommentStyle:
    return CommentStyle(line, block, tuple(closing for _, closing in block))


_NONE = _style(())
_C = _style((b"//",), ((b"/*", b"*/"),))
_HASH = _style((b"#",))
_HTML = _style((), ((b"<!--", b"-->"),))
_DASH = _style((b"--",))
_SQL = _style((b"--",), ((b"/*", b"*/"),))
_LUA = _style((b"--",), ((b"--[[", b"]]"),))
_HASKELL = _style((b"--",), ((b"{-", b"-}"),))
_LISP = _style((b";",))
_PERCENT = _style((b"%",))
_ML = _style((), ((b"(*", b"*)"),))
_FSHARP = _style((b"//",), ((b"(*", b"*)"),))
_PHP = _style((b"//", b"#"), ((b"/*", b"*/"),))
_HASH_AND_C = _style((b"#", b"//"), ((b"/*", b"*/"),))
_RUBY = _style((b"#",), ((b"=begin", b"=end"),))
_POWERSHELL = _style((b"#",), ((b"<#", b"#>"),))
#: Languages in which a string before a definition is its doc.
_JULIA = _style((b"#",), ((b"#=", b"=#"), (b'"""', b'"""'), (b'"', b'"')))
_NIM = _style((b"#",), ((b"#[", b"]#"),))
_QUOTE = _style((b'"',))
_BATCH = _style((b"::", b"rem ", b"REM "))
_FORTRAN = _style((b"!",))
_RST = _style((b"..",))


def _grammar(
    name: str,
    visibility_rule: str,
    queries: str = "",
    function: str = "language",
    *,
    merges_clauses: bool = False,
) -> Grammar:
    files = tuple((queries or name).split())
    return Grammar(f"tree_sitter_{name}", function, files, visibility_rule, merges_clauses)


def _code(
    name: str, comments: CommentStyle, extensions: str, grammar: Grammar | None = None, **more: str
) -> Language:
    return _language(name, "code", comments, extensions, grammar, more)


def _document(name: str, comments: CommentStyle, extensions: str, **more: str) -> Language:
    return _language(name, "document", comments, extensions, None, more)


def _data(name: str, comments: CommentStyle, extensions: str, **more: str) -> Language:
    return _language(name, "data", comments, extensions, None, more)


def _language(
    name: str,
    family: str,
    comments: CommentStyle,
    extensions: str,
    grammar: Grammar | None,
    more: dict[str, str],
) -> Language:
    return Language(
        name,
        family,
        comments,
        tuple("." + extension for extension in extensions.split()),
        tuple(more.get("filenames", "").split()),
        tuple(more.get("interpreters", "").split()),
        tuple(more.get("aliases", "").split()),
        grammar,
    )


# One language after the other, as in a table.
# fmt: off
_PROGRAMMING = (
    _code(
        "python", _HASH, "py pyi pyw pyx pxd wsgi", _grammar("python", "no_underscore"),
        filenames="sconstruct sconscript wscript", interpreters="python pypy uv pipx",
        aliases="py python3",
    ),
    _code(
        "javascript", _C, "js mjs cjs jsx es6 jsm",
        _grammar("javascript", "export", "ecmascript javascript jsx"), filenames="jakefile",
        interpreters="node nodejs deno bun", aliases="js node jsx ecmascript",
    ),
    _code(
        "typescript", _C, "ts mts cts d.ts",
        _grammar("typescript", "export", "ecmascript typescript", "language_typescript"),
        interpreters="ts-node tsx", aliases="ts",
    ),
    _code(
        "tsx", _C, "tsx",
        _grammar("typescript", "export", "ecmascript typescript jsx", "language_tsx"),
    ),
    _code("go", _C, "go", _grammar("go", "capital"), aliases="golang"),
    _code("rust", _C, "rs", _grammar("rust", "pub"), aliases="rs"),
    _code("java", _C, "java", _grammar("java", "public")),
    _code("c", _C, "c h idc", _grammar("c", "not_static")),
    _code(
        "cpp", _C, "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp txx ixx cppm cu cuh ino",
        _grammar("cpp", "not_static", "c cpp"), aliases="c++ cplusplus cxx cuda",
    ),
    _code("csharp", _C, "cs csx cake", _grammar("c_sharp", "public", "csharp"), aliases="c# cs"),
    _code(
        "ruby", _RUBY, "rb rbw rake gemspec ru podspec jbuilder rabl thor builder rbi",
        _grammar("ruby", "ruby"),
        filenames="gemfile rakefile guardfile capfile vagrantfile podfile fastfile appfile "
        "brewfile dangerfile thorfile berksfile puppetfile appraisals steepfile .irbrc .pryrc",
        interpreters="ruby jruby rake", aliases="rb",
    ),
    _code(
        "php", _PHP, "php phtml php3 php4 php5 php7 phps inc",
        _grammar("php", "not_private", "php", "language_php"), interpreters="php",
    ),
    _code("swift", _C, "swift", _grammar("swift", "open")),
    _code("kotlin", _C, "kt kts ktm", _grammar("kotlin", "not_private"), aliases="kt"),
    _code("scala", _C, "scala sc sbt", _grammar("scala", "not_private"), interpreters="scala"),
    _code(
        "elixir", _HASH, "ex exs", _grammar("elixir", "elixir", merges_clauses=True),
        filenames="mix.lock", interpreters="elixir", aliases="ex",
    ),
    _code(
        "haskell", _HASKELL, "hs hsc hs-boot", _grammar("haskell", "listed", merges_clauses=True),
        interpreters="runhaskell runghc stack", aliases="hs",
    ),
    _code(
        "lua", _LUA, "lua rockspec luau nse", _grammar("lua", "not_local"), filenames=".luacheckrc",
        interpreters="lua luajit",
    ),
    _code(
        "bash", _HASH, "sh bash zsh ksh bats command ebuild eclass", _grammar("bash", "always"),
        filenames=".bashrc .bash_profile .bash_aliases .bash_logout .profile .zshrc .zshenv "
        ".zprofile .zlogin .envrc pkgbuild apkbuild", interpreters="sh bash zsh ksh dash ash bats",
        aliases="sh shell zsh shellscript",
    ),
    _code("zig", _style((b"//",)), "zig zon", _grammar("zig", "pub")),
    _code(
        "ocaml", _ML, "ml mll mly",
        _grammar("ocaml", "ocaml", "ocaml ocaml_unit", "language_ocaml"), interpreters="ocaml",
        aliases="ml",
    ),
    _code(
        "ocaml-interface", _ML, "mli",
        _grammar("ocaml", "ocaml", function="language_ocaml_interface"), aliases="mli",
    ),
    _code("julia", _JULIA, "jl", _grammar("julia", "julia"), interpreters="julia", aliases="jl"),
    _code(
        "hcl", _HASH_AND_C, "hcl tf tfvars nomad", _grammar("hcl", "always"),
        aliases="terraform tf",
    ),
)

_OTHER_PROGRAMMING = (
    _code("perl", _HASH, "pl pm pod psgi", interpreters="perl", filenames="cpanfile"),
    _code("r", _HASH, "r rprofile", interpreters="rscript", filenames=".rprofile"),
    _code("dart", _C, "dart", interpreters="dart"),
    _code(
        "erlang", _PERCENT, "erl hrl app.src xrl yrl", filenames="rebar.config",
        interpreters="escript", aliases="erl",
    ),
    _code("clojure", _LISP, "clj cljs cljc edn bb", interpreters="bb clojure", aliases="clj"),
    _code("lisp", _LISP, "lisp lsp cl asd", aliases="common-lisp"),
    _code("emacs-lisp", _LISP, "el", filenames=".emacs", aliases="elisp"),
    _code("scheme", _LISP, "scm ss sld rkt", aliases="racket"),
    _code("fsharp", _FSHARP, "fs fsi fsx", aliases="f#"),
    _code("nim", _NIM, "nim nims nimble", interpreters="nim"),
    _code("crystal", _HASH, "cr", interpreters="crystal"),
    _code("d", _C, "d di"),
    _code(
        "groovy", _C, "groovy gvy gradle", filenames="jenkinsfile", interpreters="groovy",
        aliases="gradle",
    ),
    _code("objective-c", _C, "m mm", aliases="objc objectivec"),
    _code("powershell", _POWERSHELL, "ps1 psm1 psd1", interpreters="pwsh", aliases="pwsh ps1"),
    _code("batch", _BATCH, "bat cmd", aliases="bat dosbatch"),
    _code("fish", _HASH, "fish", interpreters="fish"),
    _code("nushell", _HASH, "nu", interpreters="nu"),
    _code("awk", _HASH, "awk", interpreters="awk gawk mawk"),
    _code("tcl", _HASH, "tcl tk", interpreters="tclsh wish expect"),
    _code("vim", _QUOTE, "vim vimrc", filenames=".vimrc _vimrc .gvimrc", aliases="viml vimscript"),
    _code("assembly", _style((b";", b"#", b"//"), ((b"/*", b"*/"),)), "asm s nasm", aliases="asm"),
    _code("fortran", _FORTRAN, "f f77 f90 f95 f03 f08 for"),
    _code("pascal", _FSHARP, "pas dpr lpr pp", aliases="delphi"),
    _code("ada", _DASH, "adb ads"),
    _code("cobol", _NONE, "cob cbl cpy"),
    _code("solidity", _C, "sol"),
    _code("vala", _C, "vala vapi"),
    _code("haxe", _C, "hx"),
    _code("elm", _HASKELL, "elm"),
    _code("purescript", _HASKELL, "purs"),
    _code("gleam", _C, "gleam"),
    _code("verilog", _C, "v sv svh vh", aliases="systemverilog"),
    _code("vhdl", _DASH, "vhd vhdl"),
    _code("glsl", _C, "glsl vert frag comp geom tesc tese hlsl wgsl metal", aliases="hlsl wgsl"),
    _code("visual-basic", _style((b"'",)), "vb vbs bas", aliases="vb vba"),
    _code("matlab", _PERCENT, "mlx"),
    _code(
        "coffeescript", _HASH, "coffee", filenames="cakefile", interpreters="coffee",
        aliases="coffee",
    ),
    _code(
        "starlark", _HASH, "bzl star bazel", filenames="build workspace tiltfile", aliases="bazel",
    ),
    _code("nix", _style((b"#",), ((b"/*", b"*/"),)), "nix", interpreters="nix"),
    _code("sql", _SQL, "sql psql pgsql mysql ddl dml plsql"),
    _code("graphql", _HASH, "graphql gql graphqls", aliases="gql"),
    _code("proto", _C, "proto", aliases="protobuf"),
    _code("thrift", _HASH_AND_C, "thrift"),
    _code("vue", _HTML, "vue"),
    _code("svelte", _HTML, "svelte"),
    _code("astro", _HTML, "astro"),
    _code(
        "dockerfile", _HASH, "dockerfile containerfile", filenames="dockerfile containerfile",
        aliases="docker",
    ),
    _code(
        "makefile", _HASH, "mk mak make am",
        filenames="makefile gnumakefile kbuild makefile.am makefile.inc justfile",
        interpreters="make", aliases="make just",
    ),
    _code("cmake", _style((b"#",), ((b"#[[", b"]]"),)), "cmake", filenames="cmakelists.txt"),
    _code("meson", _HASH, "meson", filenames="meson.build meson_options.txt meson.options"),
    _code("m4", _style((b"dnl", b"#")), "m4 ac", filenames="configure.in configure.ac"),
    _code("jupyter", _NONE, "ipynb", aliases="notebook ipynb"),
)

_DOCUMENTS = (
    _document(
        "markdown", _HTML, "md markdown mkd mdown mdx qmd rmd livemd",
        filenames="readme changelog changes contributing history news todo", aliases="md mdx",
    ),
    _document("restructuredtext", _RST, "rst rest rst.inc", aliases="rst"),
    _document("asciidoc", _NONE, "adoc asciidoc asc", aliases="adoc"),
    _document("org", _HASH, "org"),
    _document("pdf", _NONE, "pdf"),
    _document("docx", _NONE, "docx", aliases="word"),
    _document(
        "text", _NONE, "txt text",
        filenames="license licence copying notice authors contributors maintainers install "
        "version copyright patents codeowners thanks credits unlicense readme.txt",
        aliases="txt plain",
    ),
    _document("latex", _PERCENT, "tex sty cls bib ltx", aliases="tex"),
    _document("roff", _style((b'.\\"',)), "1 2 3 4 5 6 7 8 man mdoc roff", aliases="man troff"),
    _document("html", _HTML, "html htm xhtml shtml jsp"),
    _code(
        "template", _HTML,
        "html.erb erb html.eex eex html.heex heex leex blade.php twig j2 jinja jinja2 hbs "
        "handlebars mustache ejs haml slim pug jade liquid tmpl tpl gotmpl cshtml razor ftl "
        "njk latte mako smarty", aliases="erb heex jinja jinja2 blade handlebars",
    ),
    _code("css", _style((), ((b"/*", b"*/"),)), "css pcss postcss"),
    _code("scss", _C, "scss sass", aliases="sass"),
    _code("less", _C, "less"),
    _code("stylus", _C, "styl"),
)

_DATA = (
    _data(
        "json", _C,
        "json jsonc json5 geojson webmanifest har jsonl ndjson avsc code-workspace topojson",
        filenames=".babelrc .eslintrc .jshintrc .jscsrc .prettierrc .swcrc .arcconfig "
        ".watchmanconfig composer.lock", aliases="json5 jsonc",
    ),
    _data(
        "yaml", _HASH, "yaml yml cff",
        filenames=".clang-format .clang-tidy .clangd .yamllint .gemrc", aliases="yml",
    ),
    _data("toml", _HASH, "toml", filenames="pipfile poetry.lock cargo.lock uv.lock"),
    _data(
        "xml", _HTML,
        "xml xsd xsl xslt xaml axaml svg plist csproj fsproj vbproj vcxproj props targets wsdl "
        "rss resx nuspec pom storyboard xib config ruleset xcscheme xcworkspacedata iml",
    ),
    _data(
        "ini", _style((b";", b"#")),
        "ini cfg conf cnf desktop service socket timer editorconfig inf prefs flake8 pylintrc "
        "coveragerc",
        filenames=".editorconfig .gitconfig .gitmodules .npmrc .flake8 .pylintrc .coveragerc "
        ".hgrc .yarnrc .rspec .wgetrc .curlrc", aliases="conf cfg dosini",
    ),
    _data("properties", _style((b"#", b"!")), "properties"),
    _data(
        "ignore", _HASH, "gitignore dockerignore",
        filenames=".gitignore .dockerignore .gitattributes .npmignore .eslintignore "
        ".prettierignore .cairnignore .hgignore .helmignore .mailmap .nvmrc .tool-versions "
        ".ruby-version .python-version .node-version manifest.in", aliases="gitignore",
    ),
    _data(
        "requirements", _HASH, "",
        filenames="requirements.txt requirements-dev.txt requirements.in constraints.txt "
        "dev-requirements.txt test-requirements.txt",
    ),
    _data("gomod", _C, "", filenames="go.mod go.work go.sum"),
    _data("cabal", _DASH, "cabal", filenames="cabal.project"),
    _data("solution", _HASH, "sln"),
    _data("xcode", _C, "pbxproj xcconfig"),
    _data("diff", _NONE, "diff patch", aliases="patch"),
    _data("csv", _NONE, "csv tsv"),
    _data("po", _HASH, "po pot", aliases="gettext"),
    _data("bibtex", _PERCENT, "bibtex"),
    _data("prisma", _C, "prisma"),
    _data("http", _HASH, "http rest.http"),
    _data(
        "dotenv", _HASH, "",
        filenames=".env.example .env.sample .env.template .env.dist .env.defaults",
    ),
)

# fmt: on

#: Every language, the ones with a grammar first.
TABLE: tuple[Language, ...] = (*_PROGRAMMING, *_OTHER_PROGRAMMING, *_DOCUMENTS, *_DATA)
