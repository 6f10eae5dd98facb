"""What a text says: its language, symbols, chunks and words. Pure functions of bytes.

``languages`` tells the language, ``parser`` finds symbols with tree-sitter and the patterns in
``queries`` or with a scanner of ``outlines``, ``chunker`` cuts the text along them, ``terms``
splits identifiers into words, and ``analysis`` puts all of it together for the index.
"""
