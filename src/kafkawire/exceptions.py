"""The base class of every exception that kafkawire raises; each layer derives its own from it."""


class KafkaWireError(Exception):
    """Base class of all errors of kafkawire."""


class MissingExtraError(KafkaWireError, ImportError):
    """A library of an optional part is not installed; the message names the command that installs it."""
