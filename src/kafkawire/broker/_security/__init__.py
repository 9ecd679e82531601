"""The security of connections: the principal of each, the protocols of listeners, TLS and SASL."""
