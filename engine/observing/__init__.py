"""Listens to this process and looks at all projects, with OpenTelemetry, and tells Prometheus.

``observer`` is the door: it listens for as long as a server lives, and writes what ``/metrics``
gives. ``instruments`` turns measures into those of OpenTelemetry, ``survey`` reads from databases
what other processes do, ``tracing`` hands spans to the exporters that the environment names.

The only room that imports OpenTelemetry, and nobody imports it before it is wanted: a third of a
second.
"""
