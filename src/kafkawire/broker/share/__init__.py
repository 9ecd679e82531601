"""Share groups (KIP-932): share partitions, share sessions, and the topic `__share_group_state`.

The members of share groups are in `groups.share`. Share partitions and their stored state are pure: events and the time
go in, answers and records come out.
"""
