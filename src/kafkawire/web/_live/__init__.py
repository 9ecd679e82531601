"""Traffic while it passes: what a proxy relays, and what the embedded broker is asked, with faults on request."""
