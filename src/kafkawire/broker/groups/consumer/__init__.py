"""Groups of the consumer protocol (KIP-848): epochs, targets, reconciliation, and their records.

Everything here is pure: a group, an event and the time go in, an answer and changes come out. The changes are written
to the log, and then applied to the group, as a replay of the log does.
"""
