"""What the site does besides Markdown: pages of the repository's root, and examples in docstrings.

Rules:
- The pages in ROOT_PAGES stand in the repository's root, where people look for them; the site shows the same text.
- A link that leads out of `docs` into one of them, or from one of them into `docs`, is rewritten. A link to any other
  file of the repository becomes plain code.
- A doctest in a docstring becomes a code block: Markdown would take `>>>` for a quotation.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import griffe
from mkdocs.structure.files import File

ROOT: Final = Path(__file__).parents[1]
ROOT_PAGES: Final = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "SUPPORTED.md")
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_DOCTEST: Final = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead links to where their pages are on the site."""
    here = page.file.src_uri

    def led(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target:
            return match[0]
        if here in ROOT_PAGES:
            target = target.removeprefix("docs/")
            return f"[{text}]({target}{anchor})" if files.get_file_from_path(target) else f"`{text}`"
        if Path(target).name in ROOT_PAGES and target.startswith("../"):
            return f"[{text}]({'../' * here.count('/')}{Path(target).name}{anchor})"
        return match[0]

    return _LINK.sub(led, markdown)


class Doctests(griffe.Extension):
    """Fences the examples of docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = _DOCTEST.sub(lambda match: f"```pycon\n{match[0]}\n```", obj.docstring.value)
