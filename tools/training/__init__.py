"""From bare git mirrors to the weights of the built-in model, on two cores in under two hours.

``corpora`` reads repositories, ``pairs`` finds questions and answers in them, ``shards`` keeps the
counted words of one repository, ``vocabulary`` chooses the rows, ``batches`` draws, ``loss`` and
``train`` learn, ``joining`` makes one model of several runs, ``export`` writes the file.
``python -m tools.training`` leads through.
"""
