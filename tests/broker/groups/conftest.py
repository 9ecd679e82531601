from __future__ import annotations

import pytest
from tests.broker.groups.manual_coordinator import ManualCoordinator


@pytest.fixture
def scene() -> ManualCoordinator:
    return ManualCoordinator()
