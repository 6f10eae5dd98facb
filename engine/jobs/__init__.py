"""Durable work: jobs live in their project's database and outlive whoever runs or asks for them.

* ``states`` is the one table of transitions, ``ledger`` moves the jobs of one project along it.
* ``context`` is one job while it runs: ``progress`` says how far it is and how long it still takes,
  ``hand`` and ``suspects`` which files it may die of. ``runner`` runs the jobs of a data directory.
* ``estimate`` says how long one will take before it exists, ``retention`` lets old ones go,
  ``operation_log`` writes what people read afterwards.
"""
