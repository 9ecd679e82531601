"""Log directories as the inspector sees them: segments, the files beside them, and their tables."""
