"""The only package that speaks SQLite: one module a group of tables, one function a statement.

``connection`` and ``opening`` open and guard the file, ``migrate`` creates and updates its schema,
``filters`` and ``compression`` serve the others, which hold the statements; ``checks`` and
``repair`` serve the doctor. Functions take the handle of a transaction first and never begin or end
one.
"""
