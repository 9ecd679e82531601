"""Where bytes to inspect come from; each source is one module."""
