"""Faults of the disk and of processes, for tests: one harness for all that is to survive them.

* ``vfs`` — a file system under SQLite that counts, fails, fills up, sleeps, lies and records.
* ``sweep`` — an operation with a fault at its first, second, … call, each time from the same state.
* ``power`` — what a disk may hold after a power cut, made from a record.
* ``disk`` — disks that are really full.
* ``deaths`` — processes that die at a named place.
"""
