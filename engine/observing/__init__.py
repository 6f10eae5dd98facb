"""Metrics of this process and of all projects for Prometheus, and spans for OpenTelemetry.

``observer`` is the entry point: it records while a server lives, and writes the answer of
``/metrics``. ``instruments`` keeps measures as metrics of Prometheus' client, ``survey`` reads from
the databases what other processes do, ``tracing`` exports spans as the environment says.

The only package that imports either library, and only once it is used.
"""
