"""What code means: backends that turn passages and questions into vectors.

``embedder`` is what all of them offer, ``choice`` reads the setting that names one, ``load`` opens
it, and ``questions`` keeps one open for searches. ``static`` is the model that is built in, a
table of words, with ``builtin`` around it; ``training`` makes its weights and is not installed.

``onnx`` runs a model on this machine: ``known`` has those of fastembed's table and downloads one
when asked, ``folder`` reads one's own. ``remote`` asks a server: ``protocols`` says what to send,
``server`` asks again or gives up, ``transport`` sends. Both cut work by ``batches``, put
``prompts`` before texts, and check what comes back by ``unit``.
"""
