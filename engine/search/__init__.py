"""Search: a query → a ranked answer.

``query`` parses the query language, ``selection`` turns filters into conditions and chooses the
branch, ``lexical`` turns words into FTS5 expressions; ``prepared_query`` puts them together.
``candidates`` finds what may answer, in the database or in the ``branch_index`` that a process has
in its ``cache``, with ``symbols`` for definitions and ``meaning`` for vectors. ``features`` states
what is known of each candidate, ``weights`` what it counts, and ``rank`` adds it up; ``hits`` makes
the records that are shown. ``searcher`` runs all of it.

``related`` finds code similar to a place, and lists what passes filters.

Patterns are searched separately: ``patterns`` compiles them, based on ``pattern_syntax``; ``grep``
finds the texts that match, ``ngram_filter`` which texts are worth a look; ``pattern_search`` makes
candidates of the matches and ranks them.
"""
