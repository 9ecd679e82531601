"""The columns that bodies give to exchanges, read from frames without objects.

`_bodies.pyx` is the compiled twin. Rules of `read_bodies`:
- It fills a row of `numbers` per name in NUMBERS and a row of `texts` per name in TEXTS.
- It returns the exchanges that it left to the reference, `body_columns`. These are untouched.
- Texts are numbers of `known`, which maps bytes to numbers; -1 is null.
- This form leaves every exchange with a request to the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from kafkawire.inspect._capture.frames import Frames
    from kafkawire.inspect._tables.body_programs import Exchange


def read_bodies(
    requests: Frames,
    responses: Frames,
    asked: NDArray[np.int64],
    answered: NDArray[np.int64],
    program: Callable[[int, int], Exchange | None],
    numbers: NDArray[np.int64],
    texts: NDArray[np.int64],
    known: dict[bytes, int],
) -> NDArray[np.int64]:
    """Fill the columns of the exchanges of a connection; returns those that are left to the reference."""
    left: NDArray[np.int64] = np.flatnonzero(asked >= 0)
    return left
