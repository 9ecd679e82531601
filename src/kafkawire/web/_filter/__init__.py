"""The filter language: one for exchanges, batches, messages and lists. Nothing in it is evaluated by Python."""
