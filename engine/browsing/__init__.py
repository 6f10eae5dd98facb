"""A project from above: how its folders share the index, and how its files lie by what they mean.

``overview`` is the door. ``folders`` adds up, ``meaning_map`` reads vectors and ``projection`` lays
them out; ``kept`` remembers both until the index changes.
"""
