"""The fixtures of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.web.page_client import RunningPage

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def page() -> Iterator[RunningPage]:
    with RunningPage() as running:
        yield running
