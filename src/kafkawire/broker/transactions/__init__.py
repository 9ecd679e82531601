"""Transactions: the coordinator, its log `__transaction_state`, the markers, and the requests of producers."""
