"""The part of the library rich that the command line uses, as `kafkawire._rich`.

Rules:
- rich itself depends on Pygments and markdown-it: 12 MB that tables, colours and progress bars do not need. So the core
  has these modules of rich, and depends on nothing.
- The modules are those of the installed rich, whose version requirements.lock fixes. Only the names of imports change.
- `_unicode_data` has the latest table of character widths only, whatever UNICODE_VERSION asks for.
- A module that rich imports inside a function, and that none of our calls reaches, is left out.
"""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME: Final = "kafkawire._rich"
MODULES: Final = (
    *("__init__", "_emoji_codes", "_emoji_replace", "_export_format", "_extension", "_fileno", "_log_render", "_loop"),
    *("_null_file", "_palettes", "_pick", "_ratio", "_spinners", "_unicode_data/__init__", "_unicode_data/_versions"),
    *("_win32_console", "_windows", "_windows_renderer", "_wrap", "abc", "align", "ansi", "box", "cells", "color"),
    *("color_triplet", "console", "constrain", "containers", "control", "default_styles", "emoji", "errors"),
    *("file_proxy", "filesize", "highlighter", "jupyter", "live", "live_render", "markup", "measure", "padding"),
    *("pager", "palette", "pretty", "progress", "progress_bar", "protocol", "region", "repr", "screen", "segment"),
    *("spinner", "style", "styled", "table", "terminal_theme", "text", "theme", "themes"),
)
_IMPORT: Final = re.compile(r"^(\s*)(from|import) rich\b", re.MULTILINE)


def render_rich() -> Iterator[tuple[str, str]]:
    """Every file of `kafkawire._rich` and its text."""
    rich = distribution("rich")
    folder = Path(str(rich.locate_file("rich")))
    versions = re.findall(r'"([\d.]+)"', (folder / "_unicode_data/_versions.py").read_text("utf-8"))
    widths = f"_unicode_data/unicode{versions[-1].replace('.', '-')}"
    for module in (*MODULES, widths):
        text = (folder / f"{module}.py").read_text("utf-8")
        text = _IMPORT.sub(rf"\1\2 {NAME}", text).replace('"rich._unicode_data"', f'"{NAME}._unicode_data"')
        if module == "_unicode_data/_versions":
            text = f'VERSIONS = ("{versions[-1]}",)\n'
        head = f"# rich {rich.version}, by Will McGugan; the licence is in LICENSE. Copied by `make generate`.\n"
        yield f"{module}.py", head + text
    licence = next(each for each in rich.files or () if each.name == "LICENSE")
    yield "LICENSE", Path(str(rich.locate_file(licence))).read_text("utf-8")
