"""TLS of one listener: the context of new connections, made again when its settings or files change.

Rules:
- A context is never changed. New settings or files make a new one; open connections keep theirs.
- Files are compared at most once per LOOK_SECONDS, when a client connects. A context that cannot be made is logged
  once, and the last good one stays in use.
- A new certificate has the same subject and all alternative names of the old one, unless ssl.allow.dn.changes and
  ssl.allow.san.changes say otherwise. This holds for changed files too.
- Versions and cipher suites are those of `_tls.contexts`.
"""

from __future__ import annotations

import logging
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire._tls.contexts import load_key, set_versions
from kafkawire._tls.stores import StoreError, key_store, trust_store
from kafkawire.broker._net.tls_alerts import AlertingContext
from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._security.peer import ANONYMOUS, USER, Principal
from kafkawire.broker._security.principal_rules import PrincipalRules
from kafkawire.broker._security.x509 import Certificate, CertificateError, read_certificate
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._config.listener_settings import ListenerSettings

LOOK_SECONDS: Final = 1.0
_CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_LOCATIONS: Final = ("ssl.keystore.location", "ssl.truststore.location")


class UnknownSubjectError(Exception):
    """The certificate of a client whose subject no rule maps to a name."""


class ListenerTls:
    """The TLS of one listener."""

    def __init__(self, settings: ListenerSettings, now: Callable[[], float]) -> None:
        self._settings = settings
        self._now = now
        self._rules = PrincipalRules(settings.text("ssl.principal.mapping.rules"))
        self._seen = self._state()
        self._context, self._certificate = _make(settings)
        self._looked = now()
        _warn_if_expired(settings.listener, self._certificate)

    def context(self) -> ssl.SSLContext:
        """The context for a new connection."""
        now = self._now()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            self.refresh()
        return self._context

    def refresh(self) -> None:
        """Make a new context if settings or files have changed; the last one stays if that fails."""
        seen = self._state()
        if seen == self._seen:
            return
        self._seen = seen
        listener = self._settings.listener
        try:
            self._context, self._certificate = self.check(self._settings)
        except InvalidConfigError as error:
            reason = error.message or str(error)
            log_event("certificate kept", level=logging.ERROR, listener=listener, reason=reason)
            return
        until = self._certificate.expires
        log_event("certificate loaded", listener=listener, subject=self._certificate.subject, until=until.isoformat())
        _warn_if_expired(listener, self._certificate)

    def check(self, settings: ListenerSettings) -> tuple[ssl.SSLContext, Certificate]:
        """The context of other settings; InvalidConfigError if it could not replace this one."""
        context, certificate = _make(settings)
        old = self._certificate
        if certificate.subject != old.subject and not settings.boolean("ssl.allow.dn.changes"):
            raise InvalidConfigError(
                f"the new certificate is for {certificate.subject}, expected {old.subject}; ssl.allow.dn.changes=true "
                "allows it"
            )
        lost = old.alternative_names - certificate.alternative_names
        if lost and not settings.boolean("ssl.allow.san.changes"):
            raise InvalidConfigError(
                f"the new certificate lacks the names {', '.join(sorted(lost))}; ssl.allow.san.changes=true allows it"
            )
        return context, certificate

    def principal(self, certificate: bytes | None) -> Principal:
        """The principal of a client with a certificate in DER, or without one."""
        if certificate is None:
            return ANONYMOUS
        try:
            subject = read_certificate(certificate).subject
        except CertificateError as error:
            raise UnknownSubjectError(f"the certificate cannot be read: {error}") from error
        name = self._rules.name(subject)
        if name is None:
            raise UnknownSubjectError(f"no rule of ssl.principal.mapping.rules matches {subject!r}")
        return Principal(USER, name)

    def _state(self) -> tuple[tuple[str, ...], tuple[tuple[int, int, int] | None, ...]]:
        files = [self._settings.text(name) for name in _LOCATIONS]
        return self._settings.values(), tuple(_stamp(file) for file in files if file)


def _make(settings: ListenerSettings) -> tuple[ssl.SSLContext, Certificate]:
    context = AlertingContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    try:
        set_versions(context, settings)
        store = key_store(settings)
        if store is None:
            raise InvalidConfigError(
                f"listener {settings.listener} with {settings.protocol.value} needs a certificate: set "
                f"{settings.name('ssl.keystore.location')} to a PEM file with a private key and the certificates, or "
                "start with --secure"
            )
        load_key(context, settings, store)
        authorities = trust_store(settings)
    except StoreError as error:
        raise InvalidConfigError(str(error)) from error
    wanted = settings.text("ssl.client.auth").strip().lower() or "none"
    if wanted not in _CLIENT_AUTH:
        raise InvalidConfigError(
            f"{settings.name('ssl.client.auth')}: expected none, requested or required, found {wanted!r}"
        )
    context.verify_mode = _CLIENT_AUTH[wanted]
    if authorities:
        try:
            context.load_verify_locations(cadata=authorities)
        except ssl.SSLError as error:
            name = settings.name("ssl.truststore.location")
            raise InvalidConfigError(f"{name}: a certificate cannot be read: {error.reason}") from error
    elif wanted != "none":
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    try:
        der = ssl.PEM_cert_to_DER_cert(store.chain[: store.chain.index("-----END CERTIFICATE-----") + 26])
        return context, read_certificate(der)
    except (CertificateError, ValueError) as error:
        raise InvalidConfigError(f"{settings.name('ssl.keystore.location')}: {error}") from error


def _stamp(location: str) -> tuple[int, int, int] | None:
    try:
        found = Path(location).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _warn_if_expired(listener: str, certificate: Certificate) -> None:
    if certificate.expires <= datetime.now(UTC):
        log_event(
            "certificate expired",
            level=logging.WARNING,
            listener=listener,
            subject=certificate.subject,
            until=certificate.expires.isoformat(),
            advice="clients refuse it; replace the files of the key store, the broker loads them by itself",
        )
