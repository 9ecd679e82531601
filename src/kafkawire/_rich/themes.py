# rich 15.0.0, by Will McGugan; the licence is in LICENSE. Copied by `make generate`.
from .default_styles import DEFAULT_STYLES
from .theme import Theme


DEFAULT = Theme(DEFAULT_STYLES)
