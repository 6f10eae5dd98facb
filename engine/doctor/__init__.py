"""The doctor: finds what is damaged in an index, mends it, and keeps copies.

``doctor`` is the door, ``examination`` the table of checks, each of which finds one kind of damage
and mends it, and ``rebuild`` begins anew and saves what cannot be made again.
"""
