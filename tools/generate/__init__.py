"""Generators of stubs, error classes, SUPPORTED.md and docs/protocol from the schemas, and of the tables of rules."""
