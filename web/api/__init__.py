"""The JSON API under ``/api/v1``: one module per resource.

Each resource module (see ``routes.RESOURCES``) has its handlers and the shapes that they take and
return; ``shapes`` has the shared ones. Handlers work with a ``service.Service``, whose thread
pools (``executors``) keep engine calls off the event loop. ``requests`` decodes and checks input,
pages through lists and turns exceptions into the one error shape.
"""
