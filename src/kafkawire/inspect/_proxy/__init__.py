"""A proxy between clients and brokers that records the traffic."""
