"""Sessions, targets, progress and results of `kafkawire pipeline`."""
