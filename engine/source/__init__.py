"""What is on disk: which files belong to a project, their bytes and their text.

``walker`` finds the files, ``reader`` reads them, ``content`` and ``secrets`` make them fit to be
stored, ``git`` tells what is checked out. Everything on disk is taken for hostile.
"""
