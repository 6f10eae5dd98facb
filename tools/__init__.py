"""Tools for work on the project; not installed with it."""
