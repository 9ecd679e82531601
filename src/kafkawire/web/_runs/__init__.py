"""Output directories of pipeline runs: their findings, their exchanges, and their tables as lists."""
