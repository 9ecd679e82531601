"""Documents that are one file: reports of runs, frames and findings.

Rules:
- A document has no external references. Style, icon and scripts are inside.
- Its head is the bar of the page, with links to its parts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire._look.elements import element, html_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE: Final = Path(__file__).parent


def style_css() -> str:
    """The style sheet that everything begins with.

    >>> "--accent" in style_css(), ".finding" in style_css()
    (True, True)
    """
    return "".join((_HERE / name).read_text("utf-8") for name in ("theme.css", "parts.css"))


def icon_svg() -> str:
    """The icon, as a file of its own."""
    return (_HERE / "icon.svg").read_text("utf-8")


def document(
    title: str, parts: Sequence[tuple[str, str]], body: str, style: str, scripts: str = "", policy: str = ""
) -> str:
    """A document; `parts` are names with the addresses of parts, and `body`, `style` and `scripts` are markup."""
    forbidden = f'<meta http-equiv="content-security-policy" content="{policy}">' if policy else ""
    links = [element("a", name, href=f"#{place}") for name, place in parts]
    nav = html_of(element("nav", *links, aria_label="Parts")) if links else ""
    icon = icon_svg().replace(' xmlns="http://www.w3.org/2000/svg"', ' width="20" height="20" aria-hidden="true"')
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{forbidden}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{html_of(element('title', f'{title} - kafkawire'))}<style>{style_css()}{style}</style></head>\n"
        f'<body><header class="bar"><span class="mark">{icon}<span>kafkawire</span></span>{nav}</header>\n'
        f"{body}\n{scripts}</body></html>\n"
    )
