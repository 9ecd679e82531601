"""Access control: the entries, their evaluation, and the needs of every API."""
