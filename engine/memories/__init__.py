"""Memories saved by agents, and checkpoints: memories and indexed files as one list.

``checkpoints`` is the entry point. ``limits`` validates input, ``cards`` turns rows into
checkpoints and filters them by tags, and ``search`` ranks memories among files.
"""
