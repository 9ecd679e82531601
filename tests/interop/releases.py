"""The releases of Apache Kafka that these tests use. No other file here names one.

Rules:
- A pom names a release by a property of PROPERTIES, such as `${clients.version}`; `maven.fetch_jars` passes them all.
- Comparing with a newer release means changing a number here, then adding what the tests report.
"""

from __future__ import annotations

from typing import Final

CLIENTS: Final = "4.4.0"
"""kafka-clients: all APIs, the headers, the embedded protocols. The Java clients of the tests are of this release."""

MODULES: Final = "4.3.1"
"""The newest broker, tools and modules of the server: the records of coordinators, metadata and remote storage."""

REMOVED: Final = "3.9.2"
"""The last release with the versions that Kafka 4.0 removed: their schemas stay, for old clients and captures. Its
broker serves them."""

EARLY_SHARE_GROUPS: Final = "4.0.0"
"""The only release with ShareGroupPartitionMetadata."""

JACKSON: Final = "2.21.2"
"""Kafka's JSON converters need it."""

JOSE4J: Final = "0.9.6"
"""Kafka's clients need it for OAUTHBEARER."""

PROPERTIES: Final = {
    "clients.version": CLIENTS,
    "modules.version": MODULES,
    "removed.version": REMOVED,
    "early-share-groups.version": EARLY_SHARE_GROUPS,
    "jackson.version": JACKSON,
    "jose4j.version": JOSE4J,
}
