"""Views of an index: its files, folders and symbols, completions, and the map of meaning.

``contents`` is the entry point, ``overview`` shows a project as a whole, ``folders`` one folder.
``typeahead`` completes what is typed, ``meaning_map`` lays out files by their vectors, and
``explain`` says why a path is found or not.
"""
