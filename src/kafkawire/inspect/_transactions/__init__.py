"""Transactions in traffic and in logs, as one table."""
