"""Protobuf: schema texts, values as Python objects and as columns."""
