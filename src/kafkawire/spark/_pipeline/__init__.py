"""The pipeline: jobs from an input to tables, findings and a summary."""
