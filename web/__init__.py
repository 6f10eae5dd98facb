"""The faces of the engine: the command line, the pages, the JSON API, and the one for agents."""
