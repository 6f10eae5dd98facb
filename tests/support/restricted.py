"""Runs the command line in folders that are for reading only, as a user whom that stops."""

import importlib
import io
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click

from tests.support.unprivileged import as_nobody
from web.cli.main import COMMANDS, cairn, run


def close_folder(folder: Path) -> None:
    """Take the right to write a folder and its files away, and let others come in and read."""
    for above in folder.parents:
        if above.stat().st_uid == os.geteuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o055)
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)


def run_as_nobody(*arguments: str) -> tuple[int, str, str]:
    """Run a command line as a user whom permission bits stop: exit code, output and errors."""
    importlib.import_module("web.cli.failures")
    for name in COMMANDS:
        cairn.get_command(click.Context(cairn), name)

    def work() -> list[object]:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            code = run(arguments)
        texts = []
        for stream in (out, err):
            stream.flush()
            stream.seek(0)
            texts.append(stream.read())
        return [code, *texts]

    code, out, err = as_nobody(work)
    return code, out, err
