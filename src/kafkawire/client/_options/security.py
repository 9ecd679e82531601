"""The options of TLS and SASL, and what they mean for a connection.

Rules:
- Names are Kafka's, and those of librdkafka. Stores are PEM files, PEM text, or PKCS12 files (extra `security`).
- `ssl_context` replaces all other options of TLS.
- `sasl_jaas_config` is the login as Java writes it, for every mechanism. Its module must be that of the mechanism.
- Secrets are in no `repr` and in no error.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable  # noqa: TC003  # the types of options are evaluated
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from kafkawire._tls.contexts import load_key, set_versions
from kafkawire._tls.stores import StoreError, key_store, trust_store
from kafkawire.client._options.declaration import option
from kafkawire.client.errors import AuthenticationFailedError, OptionError
from kafkawire.wire.jaas import JaasError, LoginModule, parse_jaas

StoreType = Literal["JKS", "PEM", "PKCS12"] | None
_MODULES: Final = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
}
_EXTENSION: Final = "extension_"


class Login(NamedTuple):
    """The user and the password of SASL, and whether they are a delegation token."""

    user: str
    password: str
    is_token: bool = False

    def __repr__(self) -> str:
        return f"Login({self.user!r}, is_token={self.is_token})"


class ClientCredentials(NamedTuple):
    """The login at a token endpoint, and what to ask for."""

    url: str
    client_id: str
    secret: str
    scope: str

    def __repr__(self) -> str:
        return f"ClientCredentials({self.url!r}, {self.client_id!r})"


@dataclass(frozen=True, kw_only=True)
class SecurityOptions:
    """Options of TLS and SASL."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ssl_context: ssl.SSLContext | None = None
    ssl_cafile: str | None = option(None, "ssl.ca.location", "ssl.truststore.location")
    ssl_cadata: str | None = option(None, "ssl.ca.pem", "ssl.truststore.certificates")
    ssl_truststore_type: StoreType = None
    ssl_truststore_password: str | None = option(None, secret=True)
    ssl_certfile: str | None = option(None, "ssl.certificate.location", "ssl.keystore.location")
    ssl_certdata: str | None = option(None, "ssl.certificate.pem", "ssl.keystore.certificate.chain")
    ssl_keystore_type: StoreType = None
    ssl_keystore_password: str | None = option(None, secret=True)
    ssl_keyfile: str | None = option(None, "ssl.key.location")
    ssl_keydata: str | None = option(None, "ssl.key.pem", "ssl.keystore.key", secret=True)
    ssl_password: str | None = option(None, "ssl.key.password", secret=True)
    ssl_enabled_protocols: str = "TLSv1.2,TLSv1.3"
    ssl_cipher_suites: str | None = None
    ssl_check_hostname: bool = True
    ssl_endpoint_identification_algorithm: Literal["https", "none"] = "https"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = option(
        "PLAIN", "sasl.mechanisms"
    )
    sasl_plain_username: str | None = option(None, "sasl.username", "sasl_username")
    sasl_plain_password: str | None = option(None, "sasl.password", "sasl_password", secret=True)
    sasl_token_auth: bool = False
    sasl_jaas_config: str | None = option(None, secret=True)
    sasl_oauth_token_provider: Callable[[], Any] | str | None = None
    """A function, or its name as `module:function`, for options that are text, as on Spark."""
    sasl_login_callback_handler_class: (
        Literal[
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
            "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
            "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
        ]
        | None
    ) = None
    sasl_oauthbearer_token_endpoint_url: str | None = None
    sasl_oauthbearer_client_id: str | None = option(None, "sasl.oauthbearer.client.credentials.client.id")
    sasl_oauthbearer_client_secret: str | None = option(
        None, "sasl.oauthbearer.client.credentials.client.secret", secret=True
    )
    sasl_oauthbearer_scope: str | None = None
    sasl_oauthbearer_extensions: str | None = None
    sasl_oauthbearer_cafile: str | None = option(None, "https.ca.location")
    sasl_oauthbearer_method: Literal["default", "oidc"] = "default"

    def login(self) -> Login:
        """The user and the password of PLAIN and SCRAM."""
        jaas = self.jaas()
        if jaas is not None:
            given = jaas.options
            if not {"username", "password"} <= given.keys():
                raise OptionError("sasl_jaas_config: expected username and password")
            return self._checked(
                Login(given["username"], given["password"], given.get("tokenauth", "").lower() == "true")
            )
        if self.sasl_plain_username is None or self.sasl_plain_password is None:
            needed = "sasl_plain_username and sasl_plain_password, or sasl_jaas_config"
            raise AuthenticationFailedError(f"SASL {self.sasl_mechanism} needs {needed}")
        return self._checked(Login(self.sasl_plain_username, self.sasl_plain_password, self.sasl_token_auth))

    def check_login(self) -> None:
        """Refuse a `sasl_jaas_config` that cannot be a login, before anything is connected."""
        if self.sasl_jaas_config is None:
            return
        if self.sasl_plain_username is not None or self.sasl_plain_password is not None:
            raise OptionError("sasl_jaas_config: expected it without sasl_plain_username and sasl_plain_password")
        if self.sasl_mechanism == "OAUTHBEARER":
            self.jaas()
        else:
            self.login()

    def client_credentials(self) -> ClientCredentials:
        """The login at the token endpoint of OAUTHBEARER."""
        jaas = self.jaas()
        given = {} if jaas is None else jaas.options
        url = self.sasl_oauthbearer_token_endpoint_url
        client_id = self.sasl_oauthbearer_client_id or given.get("clientId")
        secret = self.sasl_oauthbearer_client_secret or given.get("clientSecret")
        if not url or not client_id or not secret:
            raise AuthenticationFailedError(
                "SASL OAUTHBEARER needs sasl_oauth_token_provider, or sasl_oauthbearer_token_endpoint_url with "
                "sasl_oauthbearer_client_id and sasl_oauthbearer_client_secret, or clientId and clientSecret in "
                "sasl_jaas_config"
            )
        return ClientCredentials(url, client_id, secret, self.sasl_oauthbearer_scope or given.get("scope", ""))

    def extensions(self) -> tuple[tuple[str, str], ...]:
        """The extensions of OAUTHBEARER for the broker, such as those of Confluent Cloud."""
        jaas = self.jaas() if self.sasl_mechanism == "OAUTHBEARER" else None
        given = {} if jaas is None else jaas.options
        found = {name.removeprefix(_EXTENSION): value for name, value in given.items() if name.startswith(_EXTENSION)}
        for each in filter(None, (part.strip() for part in (self.sasl_oauthbearer_extensions or "").split(","))):
            name, equals, value = each.partition("=")
            if not equals or not name.isalpha():
                raise OptionError(
                    f"sasl_oauthbearer_extensions: expected name=value,... with names of letters, found {name!r}"
                )
            found[name] = value
        return tuple(found.items())

    def jaas(self) -> LoginModule | None:
        """The module of `sasl_jaas_config`; None if it is not set."""
        if self.sasl_jaas_config is None:
            return None
        try:
            module = parse_jaas(self.sasl_jaas_config, "sasl_jaas_config")
        except JaasError as error:
            raise OptionError(str(error)) from None
        expected = _MODULES[self.sasl_mechanism]
        found = module.name.rpartition(".")[2]
        if found != expected:
            raise OptionError(f"sasl_jaas_config: {self.sasl_mechanism} needs {expected}, found {found}")
        return module

    def tls(self) -> ssl.SSLContext | None:
        """The TLS context, or None for plain text."""
        if not self.security_protocol.endswith("SSL"):
            return None
        if self.ssl_context is not None:
            return self.ssl_context
        settings = _TlsSettings(self)
        try:
            context = ssl.create_default_context(cadata=trust_store(settings) or None)
            set_versions(context, settings)
            self._present(context, settings)
        except StoreError as error:
            raise OptionError(str(error)) from error
        except OSError as error:
            raise OptionError(f"ssl_cafile {self.ssl_cafile!r}: {error.strerror or error}") from error
        context.check_hostname = self.ssl_check_hostname and self.ssl_endpoint_identification_algorithm == "https"
        return context

    def _present(self, context: ssl.SSLContext, settings: _TlsSettings) -> None:
        """Give the context the certificate of this client, if it has one."""
        if self.ssl_certfile and self.ssl_keyfile:
            try:
                # without a password OpenSSL would prompt for one on the terminal
                context.load_cert_chain(self.ssl_certfile, self.ssl_keyfile, self.ssl_password or "")
            except OSError as error:
                files = f"ssl_certfile {self.ssl_certfile!r}, ssl_keyfile {self.ssl_keyfile!r}"
                hint = "; is ssl_password right?" if isinstance(error, ssl.SSLError) else ""
                raise OptionError(f"{files}: {error.strerror or error}{hint}") from error
            return
        store = key_store(settings)
        if store is not None:
            load_key(context, settings, store)

    def _checked(self, login: Login) -> Login:
        if login.is_token and not self.sasl_mechanism.startswith("SCRAM"):
            found = f"found sasl_mechanism={self.sasl_mechanism}"
            raise OptionError(f"a delegation token logs in by SCRAM-SHA-256 or SCRAM-SHA-512, {found}")
        return login


class _TlsSettings:
    """The options of TLS under Kafka's names."""

    _OPTIONS: Final = {
        "ssl.keystore.location": "ssl_certfile",
        "ssl.keystore.certificate.chain": "ssl_certdata",
        "ssl.keystore.key": "ssl_keydata",
        "ssl.key.password": "ssl_password",
        "ssl.truststore.location": "ssl_cafile",
        "ssl.truststore.certificates": "ssl_cadata",
    }

    def __init__(self, options: SecurityOptions) -> None:
        self._options = options

    def name(self, setting: str) -> str:
        return self._OPTIONS.get(setting, setting.replace(".", "_"))

    def text(self, setting: str) -> str:
        found = getattr(self._options, self.name(setting))
        # as in Kafka a store whose type is not set is JKS, which stands for the type that its first bytes show
        return found or ("JKS" if setting.endswith(".type") else "")
