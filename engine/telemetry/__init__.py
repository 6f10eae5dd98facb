"""What this process tells of itself; nothing of it costs anything while nobody listens.

* ``logs`` are JSON lines in the data directory.
* ``origins`` says on whose behalf something is done: which face, which request.
* ``measures`` is the table of all that is counted and timed.
* ``recording`` takes in counts, times and spans, and hands them to whoever listens.

No library of telemetry is imported here; ``engine.observing`` is who listens.
"""
