"""The demonstration: a shop's traffic through the broker, its incidents, and the proof that three views of it agree."""
