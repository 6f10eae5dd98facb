"""Evaluation of search quality with golden queries, whose answers are known.

``golden`` holds the records and reads the file of queries; ``evaluate`` runs them, computes the
metrics and reports the targets that are not in the index.
"""
