"""Modules that several commands share."""
