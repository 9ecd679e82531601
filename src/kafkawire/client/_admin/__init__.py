"""Administration of topics, settings and groups."""
