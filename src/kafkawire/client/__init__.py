"""Clients of a Kafka cluster: asyncio here, plain calls in `kafkawire.client.blocking`, bulk reading in `.fetch`."""
