"""Mapped files that another process cuts off: a `tcpdump` that starts again, or a log that is truncated.

`_cut_files.pyx` is the compiled twin. Rules:
- The system sends SIGBUS to a process that reads a mapped page behind the end of the file, and that ends the process.
- The compiled form puts an empty page there, so that the reader finds zeros, as it would in a damaged file. A page of a
  file is only read, so a write to one still ends the process, as does SIGBUS of another kind.
- The handler belongs to the process. Only commands that show files which others write install it; readers never do.
- A handler cannot be written in Python. This form does nothing, and says so.
"""

from __future__ import annotations


def outlive_cuts() -> bool:
    """Survive reads behind the end of mapped files; returns whether this form can.

    >>> outlive_cuts()
    False
    """
    return False
