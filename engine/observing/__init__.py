"""Metrics of this process and of all projects for Prometheus, and spans for OpenTelemetry.

``observer`` is the door: it listens for as long as a server lives, and writes what ``/metrics``
gives. ``instruments`` keeps measures as metrics of Prometheus' client, ``survey`` reads from
databases what other processes do, ``tracing`` hands spans to the exporters that the environment
names.

The only room that imports either library, and nobody imports them before they are wanted.
"""
