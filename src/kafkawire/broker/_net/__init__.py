"""Sockets: listeners, connections, and the bytes that wait on either side of them."""
