"""The jobs of all projects of a data directory, and the process that runs them.

``queue`` is the entry point: submit, show, cancel and wait for jobs. ``runner_host`` makes this
process the data directory's one runner, or starts one that outlives it; ``listing`` pages through
jobs, ``poller`` watches all projects cheaply, ``estimate`` predicts how long a job takes, and
``housekeeping`` deletes old jobs.
"""
