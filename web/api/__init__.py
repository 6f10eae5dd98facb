"""The JSON API, ``/api/v1``: a module a resource, whose handlers ask the engine in other threads.

* ``projects``, ``search``, ``symbols``, ``files``, ``memories``, ``doctor``, ``jobs`` and
  ``events`` are the resources, ``health`` the state of the server; each has the shapes that it
  takes and gives.
* ``service`` is what handlers work with; ``lanes`` are the threads; ``pulse`` feeds the streams.
* ``shapes`` has what several resources give; ``requests`` reads what they take, ``parts`` which
  part of a list; ``failures`` says what went wrong in the one shape.
"""
