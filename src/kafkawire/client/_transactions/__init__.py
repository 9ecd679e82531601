"""Transactions of a producer: the state, the requests, and transactions that another process ends."""
