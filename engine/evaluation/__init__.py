"""Questions with known answers: how good is what the index gives?

``golden`` has the records and ``golden_file`` reads them, ``evaluate`` asks the questions,
``measures`` does the arithmetic, ``lost_targets`` tells which answers are not in the index.
"""
