"""The look that the page and the reports share: colours, type, spacing, components and charts.

Rules:
- `theme.css` only defines variables, `parts.css` the components. The page and every report begin with both, so a colour
  and a component have one place.
- A colour has a light and a dark value in one line. `data-theme` on the root overrides the preference of the system.
- Charts are drawn here and nowhere else: as text for reports, and as elements that the page makes nodes of.
"""

from __future__ import annotations

from kafkawire._look.document import style_css

__all__ = ["style_css"]
