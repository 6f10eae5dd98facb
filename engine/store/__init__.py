"""The only room that speaks SQLite: one module a table group, one function a statement.

``connection`` opens and guards the file, ``migrate`` gives it its shape; ``project``, ``files``,
``file_cards``, ``skips``, ``blobs``, ``chunks``, ``symbols``, ``fulltext``, ``vectors``,
``models``, ``memories`` and ``jobs`` hold the statements. Functions take the handle of a
transaction first and never begin or end one.
"""
