"""Reading records: subscriptions, positions, fetches, groups and commits."""
