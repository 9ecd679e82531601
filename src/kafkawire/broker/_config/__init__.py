"""Settings of brokers and topics: which there are, where they come from, how they are altered."""
