"""The command line interface: one module per subcommand of ``cairn``, each with its ``command``.

A subcommand reads its options, calls the engine and prints the answer as text or JSON; the shared
formats are in ``web.text``, ``web.wording`` and ``web.schemas``. ``options`` has what subcommands
share, ``progress`` shows progress bars, and ``failures`` reports every exception.
"""
