"""Why a connection could not be opened, above all a TLS handshake that failed, and which option changes it.

Rules:
- A certificate that one side refuses is an AuthenticationFailedError, which is not retried, as in Java. The same holds
  for a handshake without a common version of TLS or cipher suite.
- In TLS 1.3 the broker verifies the certificate of the client after the client's handshake is over. Its alert arrives
  in place of the first answer.
- Any other failure of TLS may be temporary. A connection that ends during the handshake may be to a plaintext listener.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from kafkawire.client.errors import AuthenticationFailedError, ConnectionLostError, why

if TYPE_CHECKING:
    from kafkawire.client.options import ClientOptions

_ALERTS: Final = (
    "BAD_CERTIFICATE",
    "UNSUPPORTED_CERTIFICATE",
    "CERTIFICATE_REVOKED",
    "CERTIFICATE_EXPIRED",
    "CERTIFICATE_UNKNOWN",
    "CERTIFICATE_REQUIRED",
    "UNKNOWN_CA",
    "ACCESS_DENIED",
    "DECRYPT_ERROR",
)
_NOTHING_IN_COMMON: Final = ("HANDSHAKE_FAILURE", "PROTOCOL_VERSION", "INSUFFICIENT_SECURITY")
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING")
_UNTRUSTED: Final = (18, 19, 20, 21)  # X509_V_ERR_*: self-signed, or no issuer is known
_OTHER_NAME: Final = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH


def not_opened(place: str, error: OSError, options: ClientOptions, has_protocol: bool) -> Exception:
    """The error of a connection that could not be opened; `has_protocol`: it failed after the TLS handshake."""
    refused = refused_handshake(place, error, options)
    if refused is not None:
        return refused
    return ConnectionLostError(f"{place}: {why(error)}{'' if has_protocol else _plaintext_hint(error, options)}")


def _plaintext_hint(error: OSError, options: ClientOptions) -> str:
    """A hint for a connection that was lost before its TLS handshake was over; empty if TLS is not the reason."""
    ended = isinstance(error, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError))
    is_other = isinstance(error, ssl.SSLError) and error.reason in _NOT_TLS
    if not options.security_protocol.endswith("SSL") or not (ended or is_other):
        return ""
    return "; the connection ended during the TLS handshake: is this listener plaintext?"


def refused_handshake(place: str, error: BaseException | None, options: ClientOptions) -> Exception | None:
    """The error if one side refused the other; None for failures that may be temporary."""
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = ""
        if error.verify_code in _UNTRUSTED:
            hint = "; ssl_cafile names the authorities to trust"
        elif error.verify_code in _OTHER_NAME:
            hint = "; connect by a name that the certificate has, or set ssl_check_hostname=false"
        return AuthenticationFailedError(f"{place}: {error.verify_message.removesuffix('.')}{hint}")
    if not isinstance(error, ssl.SSLError) or not (error.reason or "").endswith((*_ALERTS, *_NOTHING_IN_COMMON)):
        return None
    alert = str(error.reason).rpartition("ALERT_")[2].replace("_", " ").lower()
    if alert.replace(" ", "_").upper() in _NOTHING_IN_COMMON:
        words = (
            "no version of TLS or no cipher suite in common, or it wants a certificate of this client (ssl_certfile)"
        )
        return AuthenticationFailedError(f"{place}: the broker refuses the TLS handshake ({alert}): {words}")
    if options.ssl_certfile or options.ssl_certdata or options.ssl_context:
        return AuthenticationFailedError(f"{place}: the broker refuses the certificate of this client ({alert})")
    words = f"the broker wants a certificate of this client ({alert}); set ssl_certfile and ssl_keyfile"
    return AuthenticationFailedError(f"{place}: {words}")
