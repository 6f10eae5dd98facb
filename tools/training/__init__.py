"""Train the built-in model from bare git mirrors, on two cores in under two hours.

``corpora`` reads repositories, ``pairs`` finds questions and answers in them and stores their word
counts, ``vocabulary`` chooses the rows, ``batches`` samples, and ``train`` optimises, joins several
runs into one model and writes the file. ``python -m tools.training`` runs all steps.
"""
