"""Logs and measurements of this process; measuring costs nothing while nothing records.

* ``logs`` are JSON lines in the data directory.
* ``metrics`` has the table of all measures, the origin of a request, and the functions that record
  counts, times and spans.

No telemetry library is imported here: ``engine.observing`` connects them.
"""
