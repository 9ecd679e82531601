"""Trees as text and as JSON."""
