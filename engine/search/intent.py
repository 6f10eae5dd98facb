"""What a question means; or why words alone answer it, though its meaning was wanted."""

from typing import TYPE_CHECKING, NamedTuple

from engine.embedding.questions import QuestionEmbedder
from engine.errors import UnavailableError
from engine.records import Mode
from engine.search.memory import Memory
from engine.search.query import Query
from engine.search.question import BY_MEANING, text_of
from engine.store.connection import Store

if TYPE_CHECKING:
    from engine.search.meaning import Asked  # imports numpy
    from engine.store.models import ModelRow

_PATTERN_NOTE = "beside a pattern words rank, not their meaning"


class Intent(NamedTuple):
    """What a question means."""

    asked: "Asked | None" = None  # None: it is answered by words
    notes: tuple[str, ...] = ()  # why, when meaning was wanted


class Intents:
    """Embeds questions with the model of a project's vectors.

    Args:
        store: The project's database.
        memory: What is kept of its states.
        questions: Embeds.
    """

    def __init__(self, store: Store, memory: Memory, questions: QuestionEmbedder) -> None:
        self._store = store
        self._memory = memory
        self._questions = questions

    def of(self, query: Query, mode: Mode) -> Intent:
        """Embed a question, before the snapshot of the answer: a server may take its time.

        Raises:
            UnavailableError: It cannot be embedded, and the mode is nothing without.
        """
        text = text_of(query)
        if mode not in BY_MEANING or not text:
            return Intent()
        if query.patterns:
            return Intent(notes=(_PATTERN_NOTE,) if mode is Mode.MEANING else ())
        with self._store.read() as handle:
            state = self._memory.state(handle)
            if not state.branches:
                return Intent()
            model = state.model(handle)
        try:
            if model is None:
                raise no_vectors()
            vector = self._questions.embed(text, model.identity)
        except UnavailableError as error:
            if mode is Mode.MEANING:
                raise
            return Intent(notes=(_note_of(error),))
        from engine.search.meaning import Asked  # numpy

        return Intent(Asked.of(model, vector))


def still(intent: Intent, model: "ModelRow | None", mode: Mode) -> Intent:
    """Forget what a question means when the vectors of another model answer by now.

    Args:
        intent: What it meant before the snapshot.
        model: The one whose vectors are there now.
        mode: Of the question.

    Raises:
        UnavailableError: There is another model, and the mode is nothing without.
    """
    if intent.asked is None or model == intent.asked.model:
        return intent
    error = UnavailableError("another model was chosen just now", hint="search again")
    if mode is Mode.MEANING:
        raise error
    return Intent(notes=(_note_of(error),))


def notes_of(intent: Intent, embedded: float) -> tuple[str, ...]:
    """Say what a reader may not expect of an answer by meaning.

    Args:
        intent: What the question means.
        embedded: The share of chunks that have vectors.
    """
    if intent.asked and embedded < 1:
        return (f"{1 - embedded:.1%} of the code has no vectors yet, and is found by words alone",)
    return intent.notes


def no_vectors() -> UnavailableError:
    """Make the error of an index without vectors."""
    return UnavailableError("this index has no vectors", hint="cairn index makes them")


def _note_of(error: UnavailableError) -> str:
    return f"searched by words alone: {error.message}" + (f" ({error.hint})" if error.hint else "")
