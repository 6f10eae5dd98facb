"""Build hook for the package metadata: the README without links that only work in the source.

An installed package has neither the pictures nor the pages that README.md links to.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[.*?\]\(.*?\)\n+", re.MULTILINE)
_RELATIVE_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?!https?:)[^)]*\)")


class PackageReadme(MetadataHookInterface):
    """Puts the description of the package into its metadata."""

    def update(self, metadata: dict[str, object]) -> None:
        """Set the description."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        described = _RELATIVE_LINK.sub(r"\g<text>", _PICTURE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": described}
