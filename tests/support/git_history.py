"""Repositories with a history, for tests, and what git itself says of it."""

from pathlib import Path

from tests.support.git_trees import run_git
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree


class GitTree:
    """A work tree whose commits have rising dates, unless others are given.

    Args:
        root: The folder; made if missing.
        home: Where git looks for settings.
        arguments: More for ``git init``.
    """

    def __init__(self, root: Path, home: Path, *arguments: str) -> None:
        self.root = root
        self.home = home
        self._day = 0
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", *arguments)

    def git(self, *arguments: str) -> str:
        """Run git and give what it prints, without the last line break."""
        return run_git(self.root, self.home, *arguments).decode("utf-8", "replace").rstrip("\n")

    def feed(self, *arguments: str, given: bytes) -> None:
        """Run git with an input."""
        run_git(self.root, self.home, *arguments, given=given)

    def commit(
        self,
        message: str,
        files: dict[str, str] | None = None,
        *arguments: str,
        gone: str = "",
        day: int = 0,
    ) -> str:
        """Write files, remove one, commit everything and give the commit's name.

        Args:
            message: What it says.
            files: What to write.
            arguments: More for ``git commit``.
            gone: The file to remove.
            day: Of its date; 0 is the one after that of the commit before.
        """
        write_tree(self.root, files or {})
        if gone:
            (self.root / gone).unlink()
        self.git("add", "-A")
        self._day = day or self._day + 1
        author = f"--date=@{1_600_000_000 + self._day * 86_400} +0000"
        self._dated("commit", "-q", "--allow-empty", "-m", message, author, *arguments)
        return self.git("rev-parse", "HEAD")

    def add_empty_commits(self, number: int, message: str = "Nothing") -> None:
        """Add commits without files to the branch main, at once."""
        stream = "".join(
            f"commit refs/heads/main\ncommitter A <a@b> {1_700_000_000 + each} +0000\n"
            f"data <<END\n{message}\nEND\n" + ("" if each else "from refs/heads/main^0\n")
            for each in range(number)
        )
        self.feed("fast-import", "--quiet", given=stream.encode())

    def merge(self, branch: str, message: str) -> str:
        """Merge a branch, with a commit of its own."""
        self._day += 1
        self._dated("merge", "-q", "--no-ff", "-m", message, branch)
        return self.git("rev-parse", "HEAD")

    def _dated(self, *arguments: str) -> None:
        date = f"@{1_600_000_000 + self._day * 86_400} +0000"
        run_git(self.root, self.home, *arguments, variables={"GIT_COMMITTER_DATE": date})

    def listed(self) -> list[str]:
        """Give the names of all commits of the branch that is checked out, newest first."""
        return self.git("log", "--format=%H").splitlines()


def sample_history(root: Path, home: Path) -> GitTree:
    """Make a repository in which files are added, changed, renamed and deleted."""
    tree = GitTree(root, home)
    tree.commit("Begin\n\nThe first files.", {"src/retry.py": RETRY, "README.md": "# Sample\n"})
    tree.commit(
        "Make retries exponential\n\nA server that is down got a request each second.",
        {"src/retry.py": RETRY.replace("delay = 1", "delay = base * 2 ** attempt")},
        "--author=Ada Example <ada@example.org>",
    )
    tree.commit("Move retries into a package", {"src/net/retry.py": EXPONENTIAL}, gone=_OLD)
    tree.commit("Drop the readme", gone="README.md")
    tree.commit("Add a cache of answers", {"src/cache.py": "class AnswerCache:\n    size = 10\n"})
    return tree


def index_with_history(home: Path, *trees: GitTree) -> None:
    """Index repositories and read their history, in a data directory."""
    with catalog_in(home) as catalog:
        for tree in trees:
            project = catalog.create(str(tree.root))
            project.index()
            project.read_history()


RETRY = '''"""Requests that are tried again."""


def wait_before(attempt, base):
    """Return how long to wait before an attempt."""
    delay = 1
    return delay


def attempts(limit):
    """Return the attempts."""
    return range(limit)
'''
EXPONENTIAL = RETRY.replace("delay = 1", "delay = base * 2 ** attempt")
_OLD = "src/retry.py"
