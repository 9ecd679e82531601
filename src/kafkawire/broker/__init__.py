"""A Kafka broker of one node: topics, records and groups over real sockets, kept in Kafka's own files."""
