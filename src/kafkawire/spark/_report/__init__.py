"""The report of a pipeline's run, as one HTML page."""
