"""The subcommands of ``cairn``, one module each with its ``command``.

They read options, call ``Catalog`` and ``Index``, and hand the answer to ``render``, ``markdown``
or ``schemas``. They decide nothing about what is found.

What the command line shows on a terminal, and what it asks of the engine to show it.

``selection`` and ``job_choice`` find out which project and job is meant, ``following`` waits for a
job with ``progress`` on the screen, ``interrupt`` hears Ctrl-C, ``failures`` has the last word. The
others write one thing each as text.
"""
