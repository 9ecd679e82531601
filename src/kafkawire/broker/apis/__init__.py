"""The served APIs: one file each, named after the API. Its head lists versions and rules.

A file looks like this. A file in this package is enough to be listed in ApiVersions:

    from kafkawire.broker._dispatch.registry import RequestContext, serves
    from kafkawire.messages import HeartbeatResponse

    @serves("Heartbeat")
    def handle(node: Node, request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=node.groups.heartbeat(request.group_id, ...))

Rules:
- A handler reads its request, asks the owner of the state, and writes the response. It keeps no state.
- A handler that waits is an `async def`, or a function that returns an awaitable. It waits for a future of the loop
  with `clock.wait` and the node's clock: no thread, no sleep, no asyncio timeouts, because they use another clock.
- The node may change at every wait, also at `context.yield_if_due`. A topic, a group or a session that was looked up
  before may be gone, and a dictionary may have grown. Iterate over a copy.
- A lost connection cancels its waiting request.
- A KafkaError becomes an error response (`_dispatch.registry`). An error of one element of the request is set in that
  element's own error code.
"""
