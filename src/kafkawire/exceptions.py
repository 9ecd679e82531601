"""The root of every exception that this package raises on purpose; each layer adds its own tree below it."""


class KafkaWireError(Exception):
    """Anything kafkawire refuses, and why."""
