"""An application that produces: what a test of yours would test."""

from __future__ import annotations

import json

from kafkawire.client.blocking import Producer


def place_order(servers: str, topic: str, customer: str, amount: int) -> int:
    """Send an order and return its offset; the order is acknowledged by then."""
    value = json.dumps({"customer": customer, "amount": amount}).encode()
    with Producer(bootstrap_servers=servers, retry_backoff_ms=20) as producer:
        return producer.send_and_wait(topic, value, key=customer.encode()).offset
