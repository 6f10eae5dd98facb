"""Web pages, one module for each, with a template of the same name.

Only templates produce HTML. Handlers query the engine and render in the service's worker threads,
as the JSON API does.
"""
