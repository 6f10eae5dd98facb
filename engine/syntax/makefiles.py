"""Find the targets, variables and ``define`` blocks of makefiles, by lines.

The available grammar reads ``obj-$(X) += a.o`` as the start of a rule and swallows the lines after
it; four of five makefiles of the Linux kernel have such lines.
"""

import re

from engine.syntax.outline import Entry

#: A line continues after a backslash at its end.
_LINE = re.compile(rb"(?:[^\\\n]+|\\\r?\n|\\)*(?:\n|\Z)")
_MODIFIERS = rb"[ \t]*(?:(?:override|export|private)\s+)*"
_DEFINE = re.compile(_MODIFIERS + rb"define\s+([^\s:?+=!]+)")
_END_OF_DEFINE = re.compile(rb"^[ \t]*endef\b[^\n]*", re.MULTILINE)
_CONDITION = re.compile(rb"[ \t]*(?:(if(?:n?eq|n?def)?\b)|endif\b)")
_ASSIGNMENT = re.compile(_MODIFIERS + rb"([^\s:?+!=#]+)\s*(?:[?!+]|:{1,3})?=")
_ELSE = re.compile(rb"[ \t]*else\b")
#: Starts of lines that are neither variables nor rules.
_DIRECTIVE = re.compile(rb"[ \t]*(?:-?include|sinclude|else|vpath|unexport|undefine|load)\b")
#: A reference: a colon or an equals sign inside it does not matter to its line.
_REFERENCE = re.compile(rb"\$?\([^()]*\)|\$\{[^{}]*\}")
_MOST_NESTED = 10
_WORD = re.compile(rb"[^\s&]+")
_SETS_VARIABLE = re.compile(rb"\s*[\w.-]+\s*[:?+!]{0,3}=")
_HELP = re.compile(rb"\s##\s*([^\n]+)")
_SPECIAL = re.compile(r"\.[A-Z_]+$")
#: The recipes of a justfile have parameters: ``build target='debug':``.
_PARAMETER = re.compile(r"[=*+'\"]")
_RECIPE_HEAD = re.compile(rb"@?[\w-]+(?:[ ]+[*+$]?\w+(?:=(?:'[^']*'|\"[^\"]*\"|\w+))?)*\s*")


def entries_of_makefile(text: bytes) -> list[Entry]:
    """Return the definitions of a makefile or justfile.

    A variable counts where the file first sets it, in each branch of a condition, and not where
    it appends to it; a target where it has a recipe, or at its first mention.
    """
    return _Makefile(text).entries()


class _Makefile:
    def __init__(self, text: bytes) -> None:
        self._text = text
        self._entries: list[Entry] = []
        self._rule: list[Entry] = []  # targets of the rule to which recipe lines belong
        self._rule_end = 0  # of its last recipe line; 0 without one
        self._is_in_rule = False  # a tab begins a recipe line only after a rule
        self._variables: set[tuple[str, int]] = set()  # with the branch
        self._targets: set[str] = set()
        self._conditions = 0  # how many are open
        self._branch = 0  # counts the branches so far

    def entries(self) -> list[Entry]:
        text = self._text
        position = 0
        while position < len(text):
            match = _LINE.match(text, position)
            assert match is not None
            start, position = position, match.end()
            line = match.group()
            if self._is_in_rule and self._is_recipe(line):
                self._rule_end = start + len(line.rstrip())
            elif line.strip() and not line.lstrip().startswith(b"#"):
                position = self._on_line(line, start, position)
        self._close_rule()
        return self._entries

    def _is_recipe(self, line: bytes) -> bool:
        """Return whether a line after a rule belongs to it; justfiles indent with blanks."""
        if line.startswith(b"  ") and not self._conditions:
            return _ASSIGNMENT.match(line) is None
        return line.startswith(b"\t")

    def _on_line(self, line: bytes, start: int, after: int) -> int:
        """Process a line that is not a recipe and return the start of the next one."""
        condition = _CONDITION.match(line)
        if condition is not None or _ELSE.match(line):
            self._branch += 1
        if condition is not None:
            self._conditions = max(0, self._conditions + (1 if condition.group(1) else -1))
            return after
        if _DIRECTIVE.match(line):
            return after
        define = _DEFINE.match(line)
        if define is not None:
            self._close_rule()
            closing = _END_OF_DEFINE.search(self._text, after)
            end = closing.end() if closing is not None else len(self._text.rstrip())
            name = _decoded(define.group(1))
            self._entries.append(Entry(start, end, start + len(line.rstrip()), "macro", name))
            return end
        assignment = _ASSIGNMENT.match(line)
        if assignment is not None:
            self._close_rule()
            self._on_assignment(assignment, line, start)
        elif b":" in line and (not line.startswith(b" ") or self._conditions):
            self._on_rule(line, start)
        return after

    def _on_assignment(self, assignment: re.Match[bytes], line: bytes, start: int) -> None:
        name = _decoded(assignment.group(1))
        appends = assignment.group().endswith(b"+=")
        if appends or "$" in name or _SPECIAL.match(name):
            return
        known = len(self._variables)
        self._variables |= {(name, self._branch if self._conditions else 0)}
        if len(self._variables) == known:
            return
        kind = "constant" if len(name) > 1 and name.isupper() else "variable"
        start += len(line) - len(line.lstrip())
        head = line.lstrip().split(b"\n", 1)[0]
        end = start + len(line.strip())
        self._entries.append(Entry(start, end, start + len(head.rstrip()), kind, name))

    def _on_rule(self, line: bytes, start: int) -> None:
        plain = _without_references(line)
        colon = plain.find(b":")
        head = plain[:colon]
        if colon < 0 or b"#" in head or (b"=" in head and not _RECIPE_HEAD.fullmatch(head)):
            return
        self._close_rule()
        self._is_in_rule = True
        if _SETS_VARIABLE.match(plain, colon + 1) or plain[colon + 1 : colon + 2] == b"=":
            return
        helped = _HELP.search(line)
        doc = _decoded(helped.group(1)).strip() if helped is not None else ""
        head_end = start + len(line.split(b" #", 1)[0].rstrip())
        end = start + len(line.rstrip())
        start += len(line) - len(line.lstrip())
        names = [_decoded(line[word.start() : word.end()]) for word in _WORD.finditer(head)]
        if any(_PARAMETER.search(name) for name in names[1:]):
            names = names[:1]
        for name in dict.fromkeys(name.removeprefix("@") for name in names):
            if not _SPECIAL.match(name) and name.count("(") == name.count(")"):
                self._rule.append(Entry(start, end, head_end, "target", name, "", doc))

    def _close_rule(self) -> None:
        """Add the targets of the rule: those with a recipe, and new ones."""
        if self._rule:  # all targets of a rule begin and end at the same places
            first = self._rule[0]
            end = self._rule_end or first.end
            has_recipe = self._text.find(b"\n\t", first.start, end) >= 0
            for entry in self._rule:
                if has_recipe or entry.name not in self._targets:
                    self._targets.add(entry.name)
                    self._entries.append(entry._replace(end=end))
        self._rule, self._rule_end = [], 0
        self._is_in_rule = False


def _without_references(line: bytes) -> bytes:
    """Replace ``$(…)`` by letters and line ends by blanks; offsets are unchanged."""
    line = line.replace(b"\\\n", b"  ")
    for _ in range(_MOST_NESTED):
        shorter = _REFERENCE.sub(_masked, line)
        if shorter == line:
            break
        line = shorter
    return line


def _masked(match: re.Match[bytes]) -> bytes:
    return b"x" * len(match.group())


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "replace")
