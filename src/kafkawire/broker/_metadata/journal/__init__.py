"""The journal `__cluster_metadata-0`: its log, its files, its records and the state they add up to."""
