# rich 15.0.0, by Will McGugan; the licence is in LICENSE. Copied by `make generate`.
from typing import Any


def load_ipython_extension(ip: Any) -> None:  # pragma: no cover
    # prevent circular import
    from kafkawire._rich.pretty import install
    from kafkawire._rich.traceback import install as tr_install

    install()
    tr_install()
