"""The format `kafkawire-segments`: log files."""
