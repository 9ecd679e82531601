"""The hot loops over records: compiled modules, their headers, and their Python twins."""
