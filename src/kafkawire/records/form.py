"""The form of the hot loops in use: compiled, or their Python twins, whose types describe both."""

from typing import TYPE_CHECKING

from kafkawire.implementation import load

if TYPE_CHECKING:
    from kafkawire.records import kernel, unpacking
else:
    kernel = load("kafkawire.records._kernel", "kafkawire.records.kernel")
    unpacking = load("kafkawire.records._unpacking", "kafkawire.records.unpacking")

__all__ = ["kernel", "unpacking"]
