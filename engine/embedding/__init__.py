"""What code means: backends that turn passages and questions into vectors.

``embedder`` is what all of them offer, ``choice`` reads the setting that names one, ``load`` opens
it. ``static`` is the model that is built in, ``onnx`` runs any model that fastembed knows,
``remote`` asks a server.
"""
