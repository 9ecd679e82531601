"""The file systems of a log: on disk, and in memory."""
