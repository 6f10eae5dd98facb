"""The history of a project: its commits are read, found by what they say and change, and shown.

``commits`` turns commits into rows, ``reading`` is one run over the repository, and ``search``
answers questions. All of it can be made again: rewritten history leaves nothing behind.
"""
