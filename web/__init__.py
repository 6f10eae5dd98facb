"""The faces of the engine: the command line now, pages and protocols beside it."""
