"""The APIs that are served: one file each, named as the API, headed by its versions and rules.

A file looks like this, and being here is all it takes to be listed in ApiVersions:

    from kafkawire.broker.serving import RequestContext, serves
    from kafkawire.messages import HeartbeatResponse

    @serves("Heartbeat")
    def handle(node: Node, request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=node.groups.heartbeat(request.group_id, ...))

Rules:
- A handler reads its request, asks the owner of the state, and writes the response; it keeps nothing itself.
- What waits is an `async def`, or a plain function that returns an awaitable when it has to: a future of the loop,
  ended by `clock.wait` with the node's clock. No thread, no sleep, no asyncio timeouts (they follow another clock).
- Every wait, and `context.yield_if_due` too, is a point where the node may change: a topic, a group or a session that
  was looked up before may be gone, and a dictionary that is being walked over may have grown. Walk over a copy.
- A connection that is lost cancels what it waits for.
- Raising a KafkaError answers with its code (see `serving`); an error of one element of the request goes into that
  element's own error code, never up.
"""
