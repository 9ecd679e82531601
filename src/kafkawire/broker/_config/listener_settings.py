"""The settings of one listener: Kafka's names with the prefix listener.name.<listener>, and for one mechanism of it.

Rules:
- A value is the first of: listener.name.<listener>.<mechanism>.<setting>, listener.name.<listener>.<setting>,
  <setting>. Each of them may be set over the wire, given at start, or have a default, in this order.
- A plain `sasl.jaas.config` is ignored, as in Kafka. A plain `ssl.client.auth` counts for SSL listeners only.
- Names of listeners and mechanisms are in lower case within a setting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.settings import ConfigType, Source, keys
from kafkawire.broker._security.peer import SecurityProtocol
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from kafkawire.broker._config.settings import BrokerConfig

JAAS: Final = "sasl.jaas.config"
CLIENT_AUTH: Final = "ssl.client.auth"


class ListenerSettings:
    """The settings of a listener.

    >>> from kafkawire.broker._config.settings import BrokerConfig
    >>> config = BrokerConfig({"listener.name.out.ssl.client.auth": "required", "ssl.keystore.type": "PEM"})
    >>> settings = ListenerSettings(config, "OUT", SecurityProtocol.SSL)
    >>> settings.text("ssl.client.auth"), settings.text("ssl.keystore.type")
    ('required', 'PEM')
    """

    def __init__(self, config: BrokerConfig, listener: str, protocol: SecurityProtocol) -> None:
        self.listener = listener
        self.protocol = protocol
        self._config = config
        self._prefix = f"listener.name.{listener.lower()}."

    def name(self, setting: str, mechanism: str = "") -> str:
        """The name of a setting for this listener alone, for messages."""
        return f"{self._prefix}{mechanism.lower()}{'.' if mechanism else ''}{setting}"

    def text(self, setting: str, mechanism: str = "") -> str:
        """The value of a setting; '' if it has none."""
        names = [self.name(setting, mechanism)] if mechanism else []
        names.append(self.name(setting))
        if setting != JAAS and not (setting == CLIENT_AUTH and self.protocol is SecurityProtocol.SASL_SSL):
            names.append(setting)
        for name in names:
            given = [each.value for each in self._config.settings(name) if each.source is not Source.DEFAULT]
            if given:
                return given[0] or ""
        return keys("broker")[setting].default or ""

    def words(self, setting: str, mechanism: str = "") -> list[str]:
        """The words of a list, without blanks around them."""
        return [word.strip() for word in self.text(setting, mechanism).split(",") if word.strip()]

    def integer(self, setting: str, mechanism: str = "") -> int:
        """The value of a number."""
        text = self.text(setting, mechanism)
        try:
            return int(text.strip())
        except ValueError:
            raise InvalidConfigError(f"{self.name(setting, mechanism)}: expected a number, found {text!r}") from None

    def boolean(self, setting: str) -> bool:
        """The value of a switch."""
        return self.text(setting).strip().lower() == "true"

    def values(self) -> tuple[str, ...]:
        """The values of all settings of TLS, to see whether one has changed."""
        return tuple(self.text(name) for name in sorted(keys("broker")) if name.startswith("ssl."))

    def secret(self, setting: str) -> str:
        """The value of a password; it must not appear in any message."""
        assert keys("broker")[setting].type is ConfigType.PASSWORD, setting
        return self.text(setting)
