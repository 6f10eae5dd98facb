"""Durable jobs: they live in their project's database and outlive the processes that run them.

* ``ledger`` has the table of legal transitions, and moves the jobs of one project along it.
* ``context`` is one running job: its fencing token, checkpoints, file in flight and crash tracker.
  ``progress`` measures its speed and the remaining time.
* ``run`` takes one job to its end, with all its waits; ``runner`` runs the jobs of a data
  directory, and ``watchlist`` finds them cheaply.
* ``view`` makes a row the record that is shown, ``operation_log`` writes the log for people.
"""
