"""Groups of the share protocol (KIP-932): members, epochs, targets, the share partitions they have, and their records.

Everything here is pure: a group, an event and the time go in, an answer and changes come out. The records that members
acquire are in `broker.share`.
"""
