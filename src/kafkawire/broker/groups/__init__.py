"""Groups of every kind, committed offsets, and their records in `__consumer_offsets`.

Each protocol has a room: `classic`, `consumer`, `share` and `streams`. Everything but `service` and `offsets_log` is
pure: events and the time go in, replies and records come out.
"""
