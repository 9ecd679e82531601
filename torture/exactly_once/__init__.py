"""Exactly once, under attack: workers consume, transform and produce in transactions while they and the broker fail.

- `notes`: the journal of a worker, which survives a kill.
- `worker`: the loop of a worker. `libraries` and `kafka_python`: one worker per client library, as a process.
- `history`: the records that were read, the notes, and the check of both. It does no I/O.
- `observers`: read-committed readers that watch all the time.
- `scenario`: campaigns of rounds, each with a fault.

The design follows Jepsen and Elle: the test does not know the right result. It knows which results are impossible.
"""
