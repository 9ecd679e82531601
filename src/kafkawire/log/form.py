"""The form of the payload loops in use: compiled, or their Python twin, whose types describe both."""

from typing import TYPE_CHECKING

from kafkawire.implementation import load

if TYPE_CHECKING:
    from kafkawire.log import payload
else:
    payload = load("kafkawire.log._payload", "kafkawire.log.payload")

__all__ = ["payload"]
