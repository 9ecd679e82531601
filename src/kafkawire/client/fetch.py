"""The former module of `kafkawire.client.BulkReader`."""

from kafkawire.client._bulk.reader import BulkReader

__all__ = ["BulkReader"]
