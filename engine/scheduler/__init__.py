"""The jobs of all projects of a data directory, and who runs them.

``jobs`` is the door: ask for a job, look at it, stop it, wait for it. ``runner_host`` makes this
process the data directory's one runner, or starts one that outlives it; ``listing`` shows jobs by
page, ``housekeeping`` lets old ones go.
"""
