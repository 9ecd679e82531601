"""Compaction: the many small files of a stream become few large ones, and no reader counts a record twice."""
