"""The inputs of a pipeline: topics, log files, captures."""
