"""Reading the same fields at many places at once: one gather of rows, viewed as a structured type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkawire.inspect.sources.files import Bytes


def gather(data: Bytes, at: NDArray[np.int64], fields: np.dtype[Any]) -> NDArray[Any]:
    """The fields at each place; every place must have all of them before the end of the data.

    >>> data = np.frombuffer(bytes.fromhex("0001 0002 0003"), np.uint8)
    >>> gather(data, np.array([0, 4]), np.dtype([("n", ">u2")]))["n"].tolist()
    [1, 3]
    """
    if not len(at):
        return np.empty(0, fields)
    rows = sliding_window_view(data, fields.itemsize)[at]
    return rows.view(fields)[:, 0]
