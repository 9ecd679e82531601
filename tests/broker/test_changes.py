"""Changes of the node whose client leaves before they end."""

from __future__ import annotations

import asyncio
import gc
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.messages.errors import InvalidUpdateVersionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.log import BackgroundWork


def abandon(node: Node, failure: Callable[[], Exception]) -> list[dict[str, Any]]:
    """Cancel the caller of a change that fails afterwards; what the loop's exception handler was given."""
    complaints: list[dict[str, Any]] = []
    may_end = Event()

    def change() -> BackgroundWork[None]:
        yield may_end.wait
        raise failure()

    def nothing() -> BackgroundWork[None]:
        yield lambda: None

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        caller = asyncio.create_task(node.changes.run(change()))
        await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        may_end.set()
        await node.changes.run(nothing())

    asyncio.run(scenario())
    gc.collect()  # asyncio reports an outcome that nobody took when it frees the task
    return complaints


def test_the_refusal_of_a_client_that_left_is_not_a_fault(
    open_node: Callable[..., Node], caplog: pytest.LogCaptureFixture
) -> None:
    assert abandon(open_node(), InvalidUpdateVersionError) == []
    assert caplog.text == ""


def test_a_fault_is_logged_although_the_client_left(
    open_node: Callable[..., Node], caplog: pytest.LogCaptureFixture
) -> None:
    assert abandon(open_node(), lambda: ZeroDivisionError("a fault")) == []
    assert "a change failed after its client had left: a fault" in caplog.text


def test_the_next_change_runs_after_one_whose_client_left(open_node: Callable[..., Node]) -> None:
    node = open_node()
    abandon(node, InvalidUpdateVersionError)
    node.create_topic("later", 1)
    assert node.topics.find("later") is not None
