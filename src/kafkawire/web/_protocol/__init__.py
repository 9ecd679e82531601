"""The protocol itself: APIs, versions, fields and error codes."""
