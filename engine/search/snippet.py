"""What a hit shows: the lines of its chunk, cut to a budget of tokens."""

from engine.syntax.analysis import tokens_of


def snippet_of(text: bytes, byte_start: int, byte_end: int) -> str:
    """Give the lines of a span, without the line break at its end."""
    return text[byte_start:byte_end].decode("utf-8", "replace").rstrip("\r\n")


def cut_to_tokens(snippet: str, max_tokens: int) -> tuple[str, int]:
    """Cut a snippet at a line end so that it costs at most so many tokens.

    Returns:
        The piece (may be empty) and what it costs.
    """
    cost = tokens_of(len(snippet.encode()))
    if cost <= max_tokens:
        return snippet, cost
    kept: list[str] = []
    size_bytes = 0
    for line in snippet.split("\n"):
        line_bytes = len(line.encode()) + (1 if kept else 0)
        if tokens_of(size_bytes + line_bytes) > max_tokens:
            break
        kept.append(line)
        size_bytes += line_bytes
    return "\n".join(kept), tokens_of(size_bytes)
