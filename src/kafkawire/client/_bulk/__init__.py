"""Bulk reading and writing of offset ranges as Arrow batches, without an event loop."""
