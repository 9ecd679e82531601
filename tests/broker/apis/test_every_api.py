"""Every API in every version: what a plain request is answered with can be written, and so can its refusal."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import answer, ask
from tests.messages.samples import random_message

from kafkawire.broker._dispatch.call import Call
from kafkawire.broker._dispatch.dispatcher import Dispatcher
from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.broker._metrics.counters import Metrics
from kafkawire.broker._security.peer import Peer
from kafkawire.messages import DescribeAclsRequest, Message
from kafkawire.messages.errors import error_for
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from kafkawire.broker._node import Node

EACH = [
    pytest.param(served.api.name, version, id=f"{served.api.name}-{version}")
    for served in served_apis().values()
    for version in served.versions
]


@pytest.mark.parametrize(("name", "version"), EACH)
def test_a_default_request_is_answered(node: Node, name: str, version: int) -> None:
    request: Message = next(each for each in served_apis().values() if each.api.name == name).api.request()
    if name == "Produce":
        request.acks = 1  # type: ignore[attr-defined]  # by default nothing would be answered
    if name == "DescribeAcls":  # 0 is UNKNOWN and closes the connection
        request = DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1)
    assert ask(node, request, version) is not None


@pytest.mark.parametrize(("name", "version"), EACH)
def test_an_error_of_the_broker_is_answered(node: Node, name: str, version: int) -> None:
    served = next(each for each in served_apis().values() if each.api.name == name)
    request = random_message(served.api.request, version, Random(version))
    if name == "Produce":
        request.acks = 1
    frame = encode_request(request, version=version, correlation_id=7)
    dispatcher = Dispatcher(node, Metrics())
    dispatcher.interceptor = fail
    call = dispatcher.begin(frame, Peer(address=("test", 1)))
    assert isinstance(call, Call)
    assert answer(node, call) is not None


def fail(context: object, request: object, serve: object) -> None:
    raise error_for(-1)
