"""Connections to a cluster and its metadata, for asyncio and for blocking sockets."""
