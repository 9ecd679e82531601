"""Captures: files, packets, TCP streams, frames and connections, in the order of the data."""
