"""Who uses a name: occurrences in the indexed texts, and the definitions that they mean."""
