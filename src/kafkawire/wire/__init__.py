"""The protocol without I/O: frames, headers, and the choice of versions.

>>> from kafkawire.messages import ApiVersionsRequest
>>> data = encode_request(ApiVersionsRequest(), version=0, correlation_id=1, client_id="me")
>>> data.hex()
'0000000c001200000000000100026d65'
"""

from kafkawire.wire.errors import (
    CorrelationError,
    FrameError,
    NegotiationError,
    UnknownApiError,
    UnsupportedRequestError,
    WireError,
)
from kafkawire.wire.headers import (
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_request_parts,
    encode_response,
    encode_response_parts,
)
from kafkawire.wire.negotiation import Negotiated, answer_supported, answer_unsupported, common_version, retry_version
from kafkawire.wire.receive_buffer import FrameReader, ReceiveBuffer

__all__ = [
    "CorrelationError",
    "FrameError",
    "FrameReader",
    "Negotiated",
    "NegotiationError",
    "ReceiveBuffer",
    "UnknownApiError",
    "UnsupportedRequestError",
    "WireError",
    "answer_supported",
    "answer_unsupported",
    "common_version",
    "decode_request",
    "decode_request_header",
    "decode_response",
    "encode_request",
    "encode_request_parts",
    "encode_response",
    "encode_response_parts",
    "retry_version",
]
