"""Embedding backends, which turn passages and queries into vectors.

``embedder`` defines what all backends offer, and the setting that names one; ``load`` opens the
backend, and keeps one open for queries. ``static`` is the built-in model, a table of word vectors.

``onnx`` runs a model on this machine, from a folder or from fastembed's table, which ``known``
reads and downloads from. ``remote`` asks a server through ``http``. ``batches`` sizes the batches
of both, and checks and normalises the vectors.
"""
