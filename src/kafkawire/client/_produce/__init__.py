"""Sending records: partitions, batches, retries, and the futures of their results."""
