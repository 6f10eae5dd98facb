"""Analysis of text: its language, symbols, chunks and words. Pure functions of bytes.

``languages`` detects the language, ``parser`` finds symbols with tree-sitter and the patterns in
``queries`` or with a scanner listed in ``outline``, ``chunker`` cuts the text along them, ``terms``
splits identifiers into words, and ``analysis`` combines all of it for the index.
"""
