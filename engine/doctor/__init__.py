"""The doctor: finds what is damaged in an index, mends it, and keeps copies.

``examination`` looks, ``mending`` repairs, ``rebuilding`` begins anew and saves what cannot be made
again, ``doctor`` is the door.
"""
