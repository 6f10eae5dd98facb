"""Questions that mean something else to SQL, to FTS5, to a pattern, or nothing at all."""

from dataclasses import dataclass

from engine.search_records import Mode

_ALL = (Mode.KEYWORD, Mode.SYMBOL, Mode.HYBRID)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCase:
    """A hostile question.

    Attributes:
        name: Its name, one of a kind.
        query: What is typed.
        modes: The modes to ask in.
        refused: Whether it cannot be read, so that an InvalidInputError is right.
    """

    name: str
    query: str
    modes: tuple[Mode, ...] = _ALL
    refused: bool = False


def _plain(name: str, query: str) -> QueryCase:
    return QueryCase(name=name, query=query)


def _refused(name: str, query: str) -> QueryCase:
    return QueryCase(name=name, query=query, refused=True)


CASES = (
    _refused("nothing", ""),
    _refused("blanks", " \t\r\n\u00a0\u2003"),
    _plain("a quote alone", '"'),
    _plain("open quote", '"session'),
    _refused("quotes around nothing", '""'),
    _plain("only negation", "-session"),
    _plain("unknown filter", "nosuch:value"),
    _plain("filter without value", "lang:"),
    _plain("every branch, negated", "-branch:* session"),
    _refused("bad case", "case:maybe session"),
    _refused("100 kB", "a" * 100_000),
    _refused("50,000 terms", "term " * 50_000),
    _plain("65 terms", " ".join(f"w{number}" for number in range(65))),
    _refused("500 filters", "session " + "path:a " * 500),
    _plain("a word of 300 letters", "w" * 300),
    _plain("sym of nothing", 'sym:"" session'),
    _refused("unknown kind", "kind:nonsense session"),
    _refused("phrase of dots", '"...."'),
    _plain("all branches", "branch:* session"),
    _plain("bare dash", "- session"),
    _plain("unclosed parenthesis", "session ("),
    _plain("operators of fts5", "session AND OR NOT NEAR"),
    _plain("near of fts5", "NEAR(session token, 2)"),
    _plain("column of fts5", "body : session"),
    _plain("start of fts5", "^session + token"),
    _plain("prefix", "sess*"),
    _plain("doubled quotes", '"open ""session"" for"'),
    _plain("quotes of sql", "'; DROP TABLE files; --"),
    _plain("union", "x' UNION SELECT packed FROM blob_texts --"),
    _plain("wildcards of like", "%session_"),
    _plain("names of bindings", ":match $1 ?1 @x"),
    _plain("nul", "sess\0ion"),
    _plain("surrogates", "session \ud800\udfff"),
    _plain("beyond the first plane", "\U0001f4a9 \U00010ffff session"),
    _plain("right to left", "\u202enoisses\u202c"),
    _plain("controls", "\x1b[31msession\x07\x7f"),
    _plain("marks without letters", "\u0301\u0301\u0301"),
    _plain("decomposed", "se\u0301ssion"),
    _plain("punctuation", "!@#$%^&*()_+{}|<>?~`[]\\;',./="),
    _plain("catastrophic", "(a+)+$ " + "a" * 200),
    _plain("alternatives", "|".join(f"w{number}" for number in range(60))),
    _plain("backslashes", "\\" * 200 + " session"),
    _plain("colons", "a::b::c http://host:80/x std::vec"),
    _plain("numbers", "99999999999999999999 -0 1e309 0x"),
    _plain("64 terms", " ".join(f"s{number}" for number in range(64))),
    _plain("64 quoted phrases", " ".join(['"open session"'] * 64)),
    _plain("deep path", "path:" + "a/" * 120 + " session"),
    _plain("deep glob", "path:" + "**/" * 80 + "*.py session"),
    _plain("evil glob", "path:" + "*a" * 100 + " session"),
    _plain("open class", "path:[a-\\]] session"),
    _plain("climbing path", "path:../../etc/passwd session"),
    _plain("markup", "<img src=x onerror=alert(1)>"),
    _plain("shell", "$(reboot) `id` && rm -rf /"),
    _plain("format", "{0} %s %n {session.__class__}"),
    _plain("tag of dots", "tag:.. session"),
    _refused("nine names by use", " ".join(f"calls:n{number}" for number in range(9))),
    _refused("a huge name by use", "uses:" + "x" * 2000),
    _plain("odd names by use", 'calls:"\0" uses:"." -extends:"()" imports:"*" session'),
    _plain("qualified to the end", "calls:" + "a." * 400 + "open"),
    _plain("64 filters by use", "calls:session " * 64),
    _plain("every filter", "lang:python path:app kind:function case:yes -tag:.md session"),
)
