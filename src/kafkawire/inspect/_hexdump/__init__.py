"""Parsers for hex in any common format."""
