"""The demo: the traffic of a shop, its incidents, and a comparison of three views."""
