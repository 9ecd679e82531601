"""Builds the native twins where that is possible.

Rules:
- Every `src/**/_*.pyx` is one extension; its Python twin stands beside it and serves where the extension is absent.
- A failed build never fails the installation, unless KAFKAWIRE_BUILD=compiled asks for it.
- KAFKAWIRE_BUILD=python builds nothing.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

SOURCE = Path("src")
FLAGS = (
    ["/O2"]
    if sys.platform == "win32"
    else ["-O3", "-g0", "-fvisibility=hidden", "-fno-strict-aliasing", "-Wno-unused-function"]
)
LINK = {"linux": ["-Wl,-s"], "darwin": ["-Wl,-x"]}.get(sys.platform, [])
"""Leaves out symbols that only a debugger reads."""


def extensions() -> list[Extension]:
    wish = os.environ.get("KAFKAWIRE_BUILD", "auto")
    if wish not in ("auto", "python", "compiled"):
        raise SystemExit(f"KAFKAWIRE_BUILD={wish}: expected auto, python or compiled")
    if wish == "python":
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        if wish == "compiled":
            raise
        print("kafkawire: Cython is absent, installing the Python form only", file=sys.stderr)
        return []
    modules = [
        Extension(
            ".".join(path.relative_to(SOURCE).with_suffix("").parts),
            [path.as_posix()],
            extra_compile_args=FLAGS,
            extra_link_args=LINK,
        )
        for path in sorted(SOURCE.glob("**/_*.pyx"))
    ]
    built: list[Extension] = cythonize(modules, language_level=3)  # type: ignore[no-untyped-call]  # Cython is untyped
    for module in built:
        module.optional = wish == "auto"  # cythonize drops it
    return built


setup(ext_modules=extensions())
