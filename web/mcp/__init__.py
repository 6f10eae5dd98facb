"""The interface for agents: tools and resources of the Model Context Protocol.

``server`` registers them and runs their functions in worker threads; ``stdio`` and ``http`` are
the transports. Each module with tools has a function ``tools`` that returns them as ``Tool``
records. ``tool`` defines the record and is the only place that validates parameters.
"""
