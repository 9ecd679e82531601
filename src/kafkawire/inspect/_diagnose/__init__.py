"""Diagnosis: from the tables of a run to findings. `registry.py` runs the rules, which are in `rules`."""
