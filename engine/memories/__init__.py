"""Memories, which agents save, and checkpoints, which are memories and indexed files alike.

``checkpoints`` is the door. ``limits`` says what can be saved and ``redaction`` what of it is kept;
``tags`` chooses by tags; ``ranking`` puts memories among the files that answer a question, by their
words and by ``meaning``; ``cards`` and ``paging`` show both as one list.
"""
