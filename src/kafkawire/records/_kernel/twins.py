"""The hot loops in their active form: compiled, or the Python twins, whose types describe both.

Rules:
- A pair is loaded when it is first used, because most programs need only some of them.
"""

from typing import TYPE_CHECKING, Any

from kafkawire._native import load

if TYPE_CHECKING:
    from kafkawire.records._kernel import consumer_records, decompression, kernel, payload

__all__ = ["consumer_records", "decompression", "kernel", "payload"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = load(f"kafkawire.records._kernel._{name}", f"kafkawire.records._kernel.{name}")
        globals()[name] = found
        return found
