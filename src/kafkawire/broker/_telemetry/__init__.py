"""Metrics that clients push (KIP-714): the questions and the collected values."""
