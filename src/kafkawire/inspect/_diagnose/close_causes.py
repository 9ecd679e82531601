"""The causes in a request for which a broker closes its connection without an answer.

Rules:
- A broker closes on a size that is negative or too small for a header. It also closes on an unknown API or version, and
  on a body that cannot be decoded. It answers only ApiVersions in any version.
- Bytes after a body are not a cause, because brokers ignore them.
- Before authentication it serves only ApiVersions, SaslHandshake and SaslAuthenticate.
- Produce v3 and later must carry records of magic 2, earlier versions of magic 0 or 1. A broker that cannot answer
  (acks=0) closes.
- The versions of a broker come from its ApiVersions responses. Without one, a version that no release serves, or that
  Kafka 4 removed, is suspected.
- The first request that has no answer is the cause; later ones were not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from kafkawire.messages import UnknownMessageError, api
from kafkawire.messages.releases import api_name, versions_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkawire.inspect._diagnose.evidence import Evidence, Row

    Ranges = Mapping[int, tuple[int, int]]

PRODUCE, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 0, 17, 18, 36
BEFORE_AUTHENTICATION: Final = (SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE)
SMALLEST_REQUEST: Final = 8
_MAGIC_2: Final = 3
REMOVED: Final = {key: api_name(key) for key in versions_in("3.9") if key not in versions_in("4.0")}
"""The APIs that Kafka 4 removed."""
FLOORS: Final = {key: versions.first for key, versions in versions_in("4.0").items() if versions.first}
"""The lowest version that Kafka 4 serves, if it is not 0."""


class Cause(NamedTuple):
    """Why a broker closed a connection, as far as a request shows it."""

    text: str
    advice: str
    certainty: Literal["proven", "suspected"] = "proven"


def served_versions(evidence: Evidence) -> dict[str, Ranges]:
    """The versions that each broker serves, by its ApiVersions responses."""
    return {
        row["connection"]["server"]: {each["api_key"]: (each["min"], each["max"]) for each in row["api_versions"]}
        for row in evidence.exchanges.where(api_key=API_VERSIONS, error_code=0)
        if row["api_versions"]
    }


def impossible_size(declared: int | None, present: int | None) -> Cause | None:
    """A size that no request can have, where a request should begin."""
    if declared is None or (present or 0) < 4 or declared >= SMALLEST_REQUEST:
        return None
    text = f"a request of {declared} bytes: a request has at least {SMALLEST_REQUEST} bytes behind its size"
    return Cause(text, "The client writes a wrong size, or a wrong size before it.")


def unknown_api(asked: Row, ranges: Ranges | None) -> Cause | None:
    """An API that the broker does not have."""
    key = asked["api_key"]
    if ranges is not None and key in ranges:
        return None
    certainty: Literal["proven", "suspected"] = "suspected" if ranges is None else "proven"
    if key in REMOVED:
        text = f"{REMOVED[key]} (key {key}) was removed in Kafka 4"
        return Cause(text, "The client is a broker or tool of the ZooKeeper era: upgrade it.", certainty)
    try:
        name = api(key).name
    except UnknownMessageError:
        text = f"no release of Kafka is known to have an API with key {key}"
        return Cause(text, "The client is newer than this inspector and the broker, or its bytes are not a request.")
    if ranges is None:
        return None
    return Cause(f"the broker does not serve {name} (key {key})", "Use a client that looks at ApiVersions first.")


def unserved_version(asked: Row, ranges: Ranges | None) -> Cause | None:
    """A version that the broker does not serve."""
    key, version = asked["api_key"], asked["version"]
    if key == API_VERSIONS:
        return None
    name = asked["api"] or key
    advice = "The client is too old or too new for this broker, and ignores ApiVersions: change its version."
    if ranges is not None:
        low, high = ranges.get(key, (0, -1))
        if low <= version <= high:
            return None
        return Cause(f"{name} v{version} is not served; the broker serves versions {low} to {high}", advice)
    floor, last = FLOORS.get(key, 0), api(key).versions.last
    if floor <= version <= last:
        return None
    known = f"Kafka 4 serves versions {floor} and later" if version < floor else f"the latest known version is {last}"
    return Cause(f"{name} v{version}, and the client did not ask for versions; {known}", advice, "suspected")


def malformed(asked: Row) -> Cause | None:
    """A body that cannot be decoded, in a version that the schemas have."""
    if asked["fault"] is None or asked["version"] > api(asked["api_key"]).versions.last:
        return None
    text = f"the request is malformed: {asked['fault']}"
    return Cause(text, "The client encodes this version wrongly: `inspect --tree` shows where. Upgrade it.")


def wrong_magic(asked: Row, batches: Sequence[Row]) -> Cause | None:
    """Records in a format that does not belong to the version of Produce."""
    if asked["api_key"] != PRODUCE:
        return None
    is_new = asked["version"] >= _MAGIC_2
    wrong = sorted({batch["magic"] for batch in batches if (batch["magic"] == 2) != is_new})
    if not wrong:
        return None
    expected = "2" if is_new else "0 or 1"
    text = f"Produce v{asked['version']} carries records of magic {wrong[0]}, expected magic {expected}"
    return Cause(text, "The client writes a record format that the version does not allow: upgrade it.")


def unauthenticated(asked: Row, before: Sequence[Row], needs_sasl: bool) -> Cause | None:
    """A request that was sent before the client authenticated itself."""
    key, keys = asked["api_key"], [row["api_key"] for row in before]
    name = asked["api"] or f"API {key}"
    if key == SASL_AUTHENTICATE and SASL_HANDSHAKE not in keys:
        return Cause("SaslAuthenticate was sent before SaslHandshake", "The client must begin with SaslHandshake.")
    signed_in = any(row["api_key"] == SASL_AUTHENTICATE and row["error_code"] == 0 for row in before)
    if key in BEFORE_AUTHENTICATION or signed_in or any(row["state"] == "sasl_token" for row in before):
        return None
    if SASL_HANDSHAKE in keys:
        text = f"{name} was sent after SaslHandshake and before authentication was complete"
        return Cause(text, "The client must finish SaslAuthenticate before other requests.")
    advice = "Set security.protocol=SASL_PLAINTEXT or SASL_SSL and sasl.mechanism, or use a listener without SASL."
    if needs_sasl:
        return Cause(f"{name} was sent without authentication, and other clients of this listener use SASL", advice)
    if all(each == API_VERSIONS for each in keys) and keys:
        text = f"the first request after ApiVersions, {name}, got no answer: the listener may require SASL"
        return Cause(text, advice, "suspected")
    return None
