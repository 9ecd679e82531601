"""Consumer groups: the classic protocol, committed offsets, and their records in `__consumer_offsets`.

Everything but `service` and `offsets_log` is pure: events and the time go in, replies and records come out.
"""
