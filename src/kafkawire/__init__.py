"""kafkawire: the Kafka wire protocol, whole, in Python."""

from kafkawire.exceptions import KafkaWireError

__all__ = ["KafkaWireError", "__version__"]
__version__ = "0.1.0"
