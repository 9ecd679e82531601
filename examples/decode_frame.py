"""Build a frame, read it back, and explain every byte of it: `python examples/decode_frame.py`.

No broker is needed: messages and frames are plain values.
"""

from __future__ import annotations

from kafkawire.inspect import explain_request, parse_hex
from kafkawire.messages import MetadataRequest
from kafkawire.wire import decode_request, encode_request

request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")])
frame = encode_request(request, version=12, correlation_id=7, client_id="me")
print(frame.hex())

header, decoded = decode_request(frame)
print(header.correlation_id, header.client_id, decoded.to_json(12))

explained = explain_request(parse_hex(frame.hex(" ")))
print(explained.title)
for leaf in explained.space.leaves():
    print(f"{leaf.offset:4} {leaf.length:3} bytes  {leaf.path:30} {leaf.value!r}")
