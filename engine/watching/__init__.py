"""The parts of a watcher, each of which can be tried alone.

``places`` says what is watched and what an event is about, ``pending`` what is to be looked at and
when, ``notices`` asks the system for events, ``board`` shows other processes how it goes.
"""
