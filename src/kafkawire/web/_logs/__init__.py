"""Log directories: partitions, a partition as a strip of batches, its records, its files, and their faults."""
