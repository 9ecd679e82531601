"""Groups of the streams protocol (KIP-1071): topologies, tasks, reconciliation, and their records.

Everything here is pure, as in `consumer`: a group, an event and the time go in, an answer and changes come out.
"""
