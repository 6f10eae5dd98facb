"""The face for agents: tools and resources of the Model Context Protocol.

``server`` joins them, ``stdio`` and ``http`` carry them. A module of tools has a function ``tools``
that gives them as records; each tool is a plain function of the engine's, called in a worker thread
by ``work``. ``tool`` reads what a caller gives and is the one place that refuses it.
"""
