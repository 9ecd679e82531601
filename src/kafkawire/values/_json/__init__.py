"""JSON Schema: values as Python objects and as columns."""
