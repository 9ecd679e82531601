"""Groups of the classic protocol: members, their generations and rebalances.

Everything here is pure, as in `consumer`: events and the time go in, replies and records come out.
"""
