"""Embedding backends, which turn passages and queries into vectors.

``embedder`` defines what all backends offer, and ``model_setting`` reads the setting that names
one; ``load`` opens the backend, and keeps one open for queries. ``static`` is the built-in model, a
table of word vectors.

``onnx`` runs a model on this machine, from a folder or from fastembed's table, which
``fastembed_models`` reads and downloads from. ``remote`` asks a server through ``http``.
``batches`` sizes the batches of both, and checks and normalises the vectors.
"""

import os

# onnxruntime sends telemetry to its makers unless told not to before it is first imported, see its
# Privacy.md. Only modules of this package import it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
