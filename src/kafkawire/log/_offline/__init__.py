"""Reading log directories that no broker has open: dumps, verification, statistics."""
