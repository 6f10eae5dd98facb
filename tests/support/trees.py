"""Small source trees for tests."""

import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.jobs import until

SAMPLE = {
    "app/session.py": '''"""Sessions of users."""

MAX_SESSIONS = 100


class SessionStore:
    """Keeps the sessions of users in memory."""

    def open_session(self, user_id: int) -> str:
        """Open a session for a user and give its token."""
        return f"token-{user_id}"

    def close_session(self, token: str) -> None:
        """Close a session."""
        del token


def default_store() -> SessionStore:
    """Make the store that the application uses."""
    return SessionStore()
''',
    "app/http/router.py": '''"""Routes of the web application."""

from app.session import SessionStore


class Router:
    """Finds the handler of a request by its path."""

    def add_route(self, path: str, handler: object) -> None:
        """Register a handler."""

    def resolve(self, path: str) -> object:
        """Give the handler of a path; raises KeyError when there is none."""
        raise KeyError(path)
''',
    "cmd/server/main.go": """package main

import "net/http"

// Server answers requests.
type Server struct {
	Address string
}

// ListenAndServe opens the port and blocks.
func (s *Server) ListenAndServe() error {
	return http.ListenAndServe(s.Address, nil)
}

func main() {
	server := Server{Address: ":8080"}
	_ = server.ListenAndServe()
}
""",
    "tests/test_session.py": """from app.session import SessionStore


def test_open_session_gives_a_token() -> None:
    assert SessionStore().open_session(7) == "token-7"
""",
    "README.md": """# Sample

A small application with sessions.

## Usage

Start the server, then open a session.
""",
}

#: Two files: what a function and a class are called is also what a document speaks of.
SMALL = {
    "app.py": '''def parse_config(text):
    """Read the settings."""
    return text


class Session:
    """What a user has begun."""

    def refresh(self):
        return parse_config("x")
''',
    "docs/guide.md": "# Guide\n\nHow to parse the config.\n",
}

#: Python with two methods of one name: one is called by way of self and of variables.
SHOP = {
    "shop/cart.py": '''"""Carts."""


class Cart:
    """What somebody will buy."""

    def __init__(self) -> None:
        self.prices: list[int] = []

    def total(self) -> int:
        """Add up all prices."""
        return discounted(sum(self.prices))

    def receipt(self) -> str:
        """Print what it costs."""
        return f"total {self.total()}"


def discounted(price: int) -> int:
    """Take off what regular customers save."""
    return price - price // 10
''',
    "shop/report.py": """from shop.cart import Cart, discounted


class Report:
    def total(self) -> int:
        return discounted(100)


def checkout(cart: Cart) -> str:
    return cart.receipt()


def anything(thing):
    return thing.total()
""",
    "tests/test_cart.py": """from shop.cart import Cart, discounted


def test_total():
    assert Cart().total() == discounted(0)
""",
    "page.js": "function show(cart) { return discounted(cart) }\n",
}


#: A file that changed since may change again within one tick of its time stamps; see ``is_racy``.
_YOUNG_NS = 60_000_000


def settle(root: Path) -> None:
    """Wait until all files below a folder are old enough that a run trusts their times."""
    newest_ns = max(each.stat().st_ctime_ns for each in (root, *root.rglob("*")))
    until(lambda: time.time_ns() - newest_ns > _YOUNG_NS)


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder and give the folder; folders are made as needed."""
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text(content, "utf-8")
    return root
