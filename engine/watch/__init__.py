"""The live index: events are hints, looking decides, runs are jobs.

``live`` watches a project and submits its jobs; ``watcher`` is the loop between disk and jobs. Its
parts can each be tried alone: ``places`` says what is watched and what an event is about,
``pending`` what is to be looked at and when, ``notices`` asks the system for events.
"""
