"""Files on disk: which of them belong to a project, their bytes and their text.

``walker`` finds the files, ``reader`` reads them, ``content`` and ``secrets`` prepare their text
for storage, and ``git`` reads the state of the repository. Everything on disk is untrusted.
"""
