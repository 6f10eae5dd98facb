"""Live updates: events are hints, a comparison decides, and runs are jobs.

``live`` watches a project and submits its jobs; ``watcher`` is the loop between disk and jobs.
``listener`` chooses the folders to watch and maps events to paths, ``debounce`` collects the paths
until it is time to compare them.
"""
