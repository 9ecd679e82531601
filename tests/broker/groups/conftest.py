from __future__ import annotations

import pytest

from broker.groups.scene import Scene


@pytest.fixture
def scene() -> Scene:
    return Scene()
