from __future__ import annotations

import pytest
from tests.broker.groups.consumer.consumer_stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()
