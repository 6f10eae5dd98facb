"""The pages that people see: a module a page, with a template of the same name.

Nothing here makes HTML but the templates. Handlers ask the engine in the threads of the service,
as those of the JSON API do, and render there too.
"""
