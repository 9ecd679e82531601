from array import array

import numpy as np
from numpy.typing import NDArray

def chain(data: NDArray[np.uint8], position: int, little: bool) -> tuple[array[int], int]: ...
def walk(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int64],
    piece: int,
    position: int,
    end: int,
    limit: int,
    requests: bool,
    clients: dict[bytes, int],
) -> tuple[array[int], int, int]: ...
