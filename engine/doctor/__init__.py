"""The doctor: checks an index for damage, repairs it and makes backups.

``doctor`` is the entry point, ``examination`` runs the checks, each of which finds and repairs one
kind of damage, and ``rebuild`` starts over and saves what cannot be made again.
"""
