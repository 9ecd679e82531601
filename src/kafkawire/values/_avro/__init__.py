"""Avro: schemas, values as Python objects and as columns, and the rules of evolution."""
