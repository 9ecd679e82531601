"""TLS from Kafka's settings, for the broker and for clients: key and trust stores, versions, cipher suites."""
