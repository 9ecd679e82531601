"""Metrics of the broker: counters, their page, and its server."""
