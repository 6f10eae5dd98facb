"""A project from above, for those who look at it again and again."""

from engine.browse_records import FolderView, IndexFile, MeaningMap
from engine.checkout import Checkout, state_of
from engine.jobs.operation_log import VERIFIED_SOUND, OperationLog, latest_log
from engine.kept import Kept
from engine.overview.folders import folder_view
from engine.records import display_path
from engine.store import migrate, project
from engine.store.models import read_current_model
from engine.store.shown_paths import folder_as_stored

_MOST_FILES = 40
_MOST_KEPT = 16


class Overview:
    """Looks at one project as a whole. For any number of threads.

    Args:
        checkout: The project.
    """

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._folders: Kept[FolderView] = Kept(_MOST_KEPT)
        self._maps: Kept[MeaningMap] = Kept(1)

    def folder(self, path: str = "") -> FolderView:
        """Say how much of a folder is indexed, and where it lies; of one that is not there, none.

        Args:
            path: Absolute, or relative to the root; as it is shown when it is not UTF-8.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        relative = self._checkout.path_within(path)
        with self._checkout.read() as (handle, branch):
            return self._folders.get(
                (*state_of(handle, branch), relative),
                lambda: folder_view(
                    handle, branch, folder_as_stored(handle, branch.id, relative), _MOST_FILES
                ),
            )

    def meaning_map(self) -> MeaningMap:
        """Lay out the files by what they mean; what ``overview.meaning_map`` says of it holds."""
        from engine.overview.meaning_map import meaning_map  # with numpy

        store = self._checkout.store
        with self._checkout.read() as (handle, branch):
            return self._maps.get(
                state_of(handle, branch), lambda: meaning_map(store, handle, branch)
            )

    def index_file(self) -> IndexFile:
        """Tell of the file that holds the index, and of its last check."""
        store = self._checkout.store
        file = store.path
        check = latest_log(file.parent / "logs" / file.stem, "verify")
        with store.read() as handle:
            row = project.read_project(handle)
            model = read_current_model(handle)
            return IndexFile(
                path=display_path(str(file)),
                size_bytes=store.size_bytes(),
                schema_version=migrate.version_of(handle),
                fingerprint=(row.fingerprint if row else None) or "",
                model=model.name if model else None,
                dimension=model.dimension if model else None,
                checked_at=check.ended_at if check else None,
                was_sound=check is not None and _says_sound(check),
            )


def _says_sound(check: OperationLog) -> bool:
    try:
        return VERIFIED_SOUND in check.read()
    except OSError:
        return False
