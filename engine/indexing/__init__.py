"""One run: from what is on disk to rows, in batches that a kill cannot split.

``run`` is the whole of it, from beginning to end. ``start`` says which branch, ``scope`` and
``fingerprint``; ``scan`` and ``sides`` compare the disk with the index; ``indexer`` is the pipeline
walk → read → parse → embed → store, ``workers`` runs ``parsing`` in processes of its own in the
order that ``turns`` gives, ``batch`` collects the rows of a transaction. ``backfill`` and
``model_switch`` bring vectors up to date, ``leftovers`` deletes what nothing needs any more,
``ending`` writes what is true of the branch, ``compaction`` closes the gaps in the file, ``meter``
and ``report`` tell of it all.

``forecast`` tells beforehand what a run would do, ``watched`` what has changed.
"""
