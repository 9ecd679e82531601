"""Responses by the request or by their class: type checkers know what they get, and wrong arguments are refused."""

from __future__ import annotations

from typing import Any, assert_type

import pytest

from kafkawire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    RequestHeader,
    ResponseHeader,
    UnknownMessageError,
    apis,
)
from kafkawire.wire import WireError, decode_response, encode_response

FRAME = encode_response(MetadataResponse(cluster_id="c"), api_key=3, version=12, correlation_id=7)


def test_the_request_gives_the_class_of_the_response() -> None:
    header, response = decode_response(FRAME, request=MetadataRequest(), version=12)
    assert_type(header, ResponseHeader)
    assert_type(response, MetadataResponse)
    assert (header.correlation_id, response.cluster_id) == (7, "c")


def test_the_class_of_the_request_gives_the_class_of_the_response() -> None:
    _, response = decode_response(FRAME, request=MetadataRequest, version=12)
    assert_type(response, MetadataResponse)
    assert response.cluster_id == "c"


def test_the_class_of_the_response_is_what_is_returned() -> None:
    _, response = decode_response(FRAME, response=MetadataResponse, version=12, correlation_id=7)
    assert_type(response, MetadataResponse)
    assert response.cluster_id == "c"


def test_a_key_alone_gives_any_message() -> None:
    _, response = decode_response(FRAME, api_key=3, version=12)
    assert_type(response, Message)
    assert isinstance(response, MetadataResponse)


@pytest.mark.parametrize("arguments", [{}, {"request": HeartbeatRequest, "api_key": 12}])
def test_one_argument_names_the_api(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="one of request, response and api_key, found"):
        decode_response(FRAME, version=12, **arguments)


@pytest.mark.parametrize("cls", [HeartbeatRequest, RequestHeader])
def test_only_responses_are_read(cls: type[Message]) -> None:
    with pytest.raises(WireError, match=f"expected the class of a response, found {cls.__name__}"):
        decode_response(FRAME, response=cls, version=12)


@pytest.mark.parametrize("cls", [HeartbeatResponse, RequestHeader])
def test_only_requests_are_answered(cls: type[Message]) -> None:
    with pytest.raises(UnknownMessageError, match=f"{cls.__name__} is not a request"):
        decode_response(FRAME, request=cls, version=12)


def test_every_request_has_its_key_and_its_response() -> None:
    for each in apis():
        assert (each.request.api_key, each.response.api_key) == (each.key, each.key)
        assert each.request.response_class() is each.response
