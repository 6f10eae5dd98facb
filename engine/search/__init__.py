"""A question → a ranked answer.

``query`` reads the language, ``selection`` its filters, ``lexical`` its words; ``candidates`` finds
what may answer, with ``symbols`` for definitions; ``rank`` orders it by its own rules and those of
``pathrules``; ``snippet`` cuts what is shown. ``searcher`` leads through all of them.

Patterns have a way of their own: ``patterns`` compiles them, with ``pattern_syntax`` for what they
say and ``pattern_errors`` for why one is refused; ``grep`` finds the texts that match; ``places``
makes candidates of them and orders them.
"""
