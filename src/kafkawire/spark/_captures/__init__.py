"""The format `kafkawire-captures`: network captures."""
