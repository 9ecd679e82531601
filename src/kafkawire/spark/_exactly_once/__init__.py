"""Exactly-once writes to topics: transactions of tasks, the decision of the driver, and recovery."""
