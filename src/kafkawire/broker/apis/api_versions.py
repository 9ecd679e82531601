"""ApiVersions: v0-4. What this broker serves.

Rules:
- The list is that of the files beside this one.
- A version that is not served is answered all the same, before a handler is asked (`dispatch`).
- From v3 on the client's software name and version must be letters, digits, '-' and '.' that begin and end with a
  letter or digit; else INVALID_REQUEST.
- No features: there is nothing to finalize on one node.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from kafkawire.broker.serving import RequestContext, served_apis, serves
from kafkawire.messages.errors import InvalidRequestError
from kafkawire.wire import answer_supported

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import ApiVersionsRequest, ApiVersionsResponse

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@serves("ApiVersions")
def handle(node: Node, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    if context.version >= 3:
        for value in (request.client_software_name, request.client_software_version):
            if not _SOFTWARE.fullmatch(value):
                raise InvalidRequestError(f"client software {value!r}: expected letters, digits, '-' and '.'")
    return _listed()


@cache
def _listed() -> ApiVersionsResponse:
    return answer_supported((key, served.versions) for key, served in served_apis().items())
