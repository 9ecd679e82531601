"""The security of each listener: its protocol, its settings, its TLS and its SASL.

Rules:
- Everything is made when the broker is made, so that an invalid setting or certificate stops the start.
- Only a listener that uses TLS or SASL imports their modules.
- A listener that a network reaches without authentication is logged, with the way to secure it.
- A change of settings over the wire is checked against the listeners before it is stored, and applied after.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkawire.broker._config.listener_settings import ListenerSettings
from kafkawire.broker._ops.event_log import log_event
from kafkawire.messages.errors import InvalidConfigError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkawire.broker._clock import Clock
    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._security.peer import SecurityProtocol
    from kafkawire.broker._security.sasl import ListenerSasl
    from kafkawire.broker._security.tls import ListenerTls


class ListenerSecurity:
    """The security of one listener."""

    def __init__(self, config: BrokerConfig, name: str, protocol: SecurityProtocol, clock: Clock) -> None:
        self.name = name
        self.protocol = protocol
        self.settings = ListenerSettings(config, name, protocol)
        self.tls: ListenerTls | None = None
        self.sasl: ListenerSasl | None = None
        if protocol.uses_sasl:
            from kafkawire.broker._security.sasl import ListenerSasl

            self.sasl = ListenerSasl(self.settings)
        if protocol.uses_tls:
            from kafkawire.broker._security.tls import ListenerTls

            self.tls = ListenerTls(self.settings, lambda: clock.elapsed() / 1000)

    @property
    def authenticates(self) -> bool:
        """Whether every client must authenticate."""
        return self.protocol.uses_sasl or (
            self.tls is not None and self.settings.text("ssl.client.auth").strip().lower() == "required"
        )

    def warn_if_open(self, host: str) -> None:
        """Log a warning if other machines reach the listener without authentication."""
        if self.authenticates or _is_local(host):
            return
        lower = self.name.lower()
        log_event(
            "listener without authentication",
            level=logging.WARNING,
            listener=self.name,
            address=host or "every address",
            advice=f"every client that reaches it may read and write everything; start with --secure, or give it the "
            f"protocol SASL_SSL in listener.security.protocol.map and set listener.name.{lower}.ssl.keystore.location",
        )


class Listeners:
    """The security of all listeners, by name."""

    def __init__(self, config: BrokerConfig, protocols: Mapping[str, SecurityProtocol], clock: Clock) -> None:
        self._config = config
        self._by_name = {name: ListenerSecurity(config, name, kind, clock) for name, kind in protocols.items()}

    def __getitem__(self, name: str) -> ListenerSecurity:
        return self._by_name[name]

    def __iter__(self) -> Iterator[ListenerSecurity]:
        return iter(self._by_name.values())

    def check_change(self, resource: str, changes: Mapping[str, str | None]) -> None:
        """Refuse a change of the broker's settings that a listener could not take."""
        if not any(name.startswith("listener.name.") for name in changes):
            return
        changed = self._config.with_changes(resource, changes)
        for listener in self:
            if listener.tls is not None:
                try:
                    listener.tls.check(ListenerSettings(changed, listener.name, listener.protocol))
                except InvalidConfigError as error:
                    raise InvalidRequestError(error.message) from error

    def refresh(self) -> None:
        """Use settings that have changed."""
        for listener in self:
            if listener.tls is not None:
                listener.tls.refresh()


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
