"""What there is to know about an answer, in the sentences that terminals and agents read."""

from engine.records import SearchAnswer


def notes_on(answer: SearchAnswer) -> list[str]:
    """Give the notes of an answer, and what its query names that is nowhere; not escaped."""
    notes = list(answer.notes)
    if answer.missing:
        nearest = "; what is found is the nearest" if answer.hits else ""
        notes.append(f"nothing that is indexed has {' or '.join(answer.missing)}{nearest}")
    return notes
