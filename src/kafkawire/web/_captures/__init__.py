"""Captures: exchanges as a filtered list, their timeline, connections as lanes, findings."""
