"""The repair of damaged log directories: a plan first, then the work."""
