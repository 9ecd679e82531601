"""Quotas of clients: the stored values, the meters, and the throttle times."""
