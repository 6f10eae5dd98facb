"""Small source trees for tests."""

from collections.abc import Mapping
from pathlib import Path

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
