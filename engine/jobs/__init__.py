"""Durable work: jobs live in their project's database and outlive whoever runs or asks for them.

* ``states`` is the one table of transitions, ``ledger`` moves the jobs of one project along it.
* ``context`` is one job while it runs: ``movement`` says where it is, ``hand`` and ``suspects``
  which files it may die of. ``runner`` runs the jobs of a data directory.
* ``estimate`` foretells how long one takes, ``retention`` lets old ones go, ``operation_log``
  writes what people read afterwards.
"""
