"""What the doctor found and did, as lines for people."""

from engine.doctor_records import (
    Backup,
    Compaction,
    Finding,
    Repair,
    Severity,
    Verification,
)
from web.terminal import Style, printable
from web.wording import count, duration, size

_PLACES_SHOWN = 5
_COUNTED = ("file", "chunk", "vector", "symbol")


def verification_text(found: Verification, style: Style) -> str:
    """Give what was checked and found, and what to do."""
    head = style.good("sound") if found.ok else style.bad("damaged")
    lines = [f"{head}: the index of {printable(found.path)}"]
    counts = [
        count(found.checked[f"{name}s"], name) for name in _COUNTED if f"{name}s" in found.checked
    ]
    if counts:
        lines.append(f"  checked {', '.join(counts)} in {duration(found.took_ms)}")
    for finding in found.findings:
        lines += _finding_lines(finding, style)
    if found.suggested_fixes:
        lines.append("what to do")
        lines += [f"  {printable(fix)}" for fix in found.suggested_fixes]
    if found.log and not found.ok:
        lines.append(style.dim(f"log: {printable(found.log)}"))
    return "\n".join(lines) + "\n"


def repair_text(repair: Repair, style: Style) -> str:
    """Give what was found, what was done about it, and what was kept."""
    lines: list[str] = []
    for finding in repair.before.findings:
        lines += _finding_lines(finding, style)
    lines += [f"  {printable(sentence)}" for sentence in repair.done]
    if repair.done and repair.kept:
        lines.append(f"  kept {', '.join(map(printable, repair.kept))}")
    if repair.aside:
        lines.append(f"  the damaged file is {printable(repair.aside)}: delete it when all is well")
    if not repair.before.findings:
        lines.append("  nothing is damaged, so nothing was changed")
    head = style.good("sound") if repair.ok else style.bad("still damaged")
    lines.append(f"{head}: the index of {printable(repair.path)}, {duration(repair.took_ms)}")
    return "\n".join(lines) + "\n"


def compaction_text(done: Compaction) -> str:
    """Give how much smaller a file has become."""
    before, after = size(done.bytes_before), size(done.bytes_after)
    return f"compacted the index of {printable(done.path)}: {before} → {after}\n"


def backup_text(done: Backup) -> str:
    """Give where a copy is."""
    return (
        f"copied the index of {printable(done.path)} to {printable(done.file)}"
        f" ({size(done.size_bytes)})\n"
    )


def _finding_lines(finding: Finding, style: Style) -> list[str]:
    mark = style.warning("-") if finding.severity is Severity.NOTE else style.bad("!")
    lines = [f"  {mark} {printable(finding.message)}"]
    lines += [style.dim(f"      {printable(place)}") for place in finding.places[:_PLACES_SHOWN]]
    left = finding.count - _PLACES_SHOWN
    if finding.places and left > 0:
        lines.append(style.dim(f"      and {left:,} more"))
    return lines
