"""The look that the page and the reports share: colours, one type scale, one spacing scale.

Rules:
- `theme.css` only defines variables. Both the page and the reports begin with it, so a colour has one place.
- A colour has a light and a dark value in one line. `data-theme` on the root overrides the preference of the system.
"""

from __future__ import annotations

from pathlib import Path


def theme_css() -> str:
    """The style sheet with the variables.

    >>> "--accent" in theme_css()
    True
    """
    return (Path(__file__).parent / "theme.css").read_text("utf-8")
