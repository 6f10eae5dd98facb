"""One indexing run: from files on disk to rows, in batches that a kill cannot split.

``run`` is the whole of a run. ``scope`` says which files belong to a project, and computes the
fingerprint of their contents; ``seed`` begins a new worktree's index from a sibling's. ``scan``
compares the disk with the index, and ``indexer`` is the pipeline walk → read → parse → embed →
store: ``workers`` runs ``parsing`` in processes, ``batch`` collects the rows of a transaction.
``vectors`` makes missing vectors and switches models, ``progress`` reports.

``watched`` tells a watcher what a run would change.
"""
