"""A question → a ranked answer.

``query`` reads the language, ``selection`` its filters, ``lexical`` its words, ``spellings`` how
the index writes them; ``question`` puts them together, and ``branches`` says which branch is asked.
``candidates`` finds what may answer in the database, with ``symbols`` for definitions, and
``tree_candidates`` in what a process keeps: ``memory`` and ``tree``. ``meaning`` compares vectors
for both. ``features`` says what is known of what was found, ``weights`` what each of it counts, and
``rank`` adds up, with the factors of ``pathrules``; ``snippet`` cuts what is shown. ``searcher``
leads through all of them.

``related`` finds code like that of a place.

Patterns have a way of their own: ``patterns`` compiles them, with ``pattern_syntax`` for what they
say and ``pattern_errors`` for why one is refused; ``grep`` finds the texts that match; ``places``
makes candidates of them and orders them.
"""
