"""A trace of the protocol: one event per request, answer and lost connection of a client."""
