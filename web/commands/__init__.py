"""The subcommands of ``cairn``, one module each with its ``command``.

They read options, call ``Catalog`` and ``Index``, and hand the answer to ``render``, ``markdown``
or ``schemas``. They decide nothing about what is found.
"""
