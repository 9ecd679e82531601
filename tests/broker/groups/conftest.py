from __future__ import annotations

import pytest
from tests.broker.groups.scene import Scene


@pytest.fixture
def scene() -> Scene:
    return Scene()
