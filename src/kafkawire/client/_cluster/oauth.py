"""Tokens for OAUTHBEARER: from a function of the user, or from a token endpoint by client credentials (RFC 6749).

Rules:
- A token is used for most of its life, and then fetched again. All connections with the same options share it.
- The fetch blocks, so asyncio connections run it in a thread. Only one fetch per endpoint runs at a time.
- The endpoint is https, or http on this machine. A file URL names a file that contains a token, as in Java; it is read
  for every connection. No error contains the secret or a token.
- The credentials come from the options, or from their JAAS setting (`_options.security`). With
  unsecuredLoginStringClaim_sub in it the token has no signature, for tests.
- The function may be given by its name, `module:function`, where options are text, as on Spark.
- A function returns the token as text, or with its end in seconds since 1970. Without an end it is called for every
  connection.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import Request, urlopen

from kafkawire.client.errors import AuthenticationFailedError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.client.options import ClientOptions

_USED_OF_LIFE: Final = 0.8
_LARGEST: Final = 1024 * 1024
_UNSECURED: Final = "unsecuredLoginStringClaim_sub"
_UNSECURED_SECONDS: Final = 3600
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class OAuthToken(NamedTuple):
    """A token, its end in seconds since 1970, and extensions for the broker, such as those of Confluent Cloud."""

    value: str
    expires: float = 0.0
    extensions: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"OAuthToken(hidden, expires={self.expires})"


class TokenSource:
    """The tokens of one endpoint."""

    def __init__(self, url: str, client_id: str, secret: str, scope: str, seconds: float, cafile: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
            raise OptionError(f"sasl_oauthbearer_token_endpoint_url: expected an https URL, found {url!r}")
        self._url = url
        self._login = base64.b64encode(f"{quote(client_id, safe='')}:{quote(secret, safe='')}".encode()).decode()
        self._scope = scope
        self._seconds = seconds
        self._cafile = cafile
        self._token: OAuthToken | None = None
        self._fresh_until = 0.0
        self._lock = threading.Lock()

    def token(self) -> OAuthToken:
        """A token that is valid for some time."""
        with self._lock:
            now = time.time()
            if self._token is None or now >= self._fresh_until:
                self._token = self._fetch(now)
                self._fresh_until = now + (self._token.expires - now) * _USED_OF_LIFE
            return self._token

    def _fetch(self, now: float) -> OAuthToken:
        fields = {"grant_type": "client_credentials", **({"scope": self._scope} if self._scope else {})}
        headers = {"Authorization": f"Basic {self._login}", "Accept": "application/json"}
        request = Request(self._url, urlencode(fields).encode(), headers)
        context = ssl.create_default_context(cafile=self._cafile) if self._url.startswith("https") else None
        try:
            with urlopen(request, timeout=self._seconds, context=context) as answer:
                content = answer.read(_LARGEST)
        except HTTPError as error:
            error.close()
            raise AuthenticationFailedError(f"{self._url}: the token endpoint answers {error.code}") from None
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise AuthenticationFailedError(f"{self._url}: the token endpoint cannot be reached: {reason}") from None
        try:
            found: dict[str, Any] = json.loads(content)
            value, lifetime = str(found["access_token"]), float(found.get("expires_in", 0))
        except (ValueError, KeyError, TypeError):
            raise AuthenticationFailedError(f"{self._url}: expected JSON with access_token and expires_in") from None
        return OAuthToken(value, now + lifetime)


@lru_cache(maxsize=64)
def _source(*key: Any) -> TokenSource:
    return TokenSource(*key)


def fetch_token(options: ClientOptions) -> OAuthToken:
    """A token for a new connection; this may block."""
    provider = options.sasl_oauth_token_provider
    if provider is not None:
        given = (_named(provider) if isinstance(provider, str) else provider)()
        token = given if isinstance(given, OAuthToken) else OAuthToken(given)
        if not token.value:
            raise AuthenticationFailedError("sasl_oauth_token_provider: expected a token, found none")
    else:
        url = options.sasl_oauthbearer_token_endpoint_url
        if url and url.startswith("file:"):
            return _with_extensions(OAuthToken(_read_token(url)), options)
        jaas = options.jaas()
        if not url and jaas is not None and _UNSECURED in jaas.options:
            return _with_extensions(_unsecured(jaas.options[_UNSECURED]), options)
        seconds = options.request_timeout_ms / 1000
        token = _source(*options.client_credentials(), seconds, options.sasl_oauthbearer_cafile).token()
    return _with_extensions(token, options)


def _named(text: str) -> Callable[[], Any]:
    """The function that an option names."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise OptionError(f"sasl_oauth_token_provider={text}: expected a function, or its name as module:function")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise OptionError(f"sasl_oauth_token_provider={text}: {error}") from error
    if not callable(found):
        raise OptionError(f"sasl_oauth_token_provider={text}: {name} is not a function")
    function: Callable[[], Any] = found
    return function


def _with_extensions(token: OAuthToken, options: ClientOptions) -> OAuthToken:
    extra = options.extensions()
    return token._replace(extensions=(*token.extensions, *extra)) if extra else token


def _unsecured(subject: str) -> OAuthToken:
    now = time.time()
    claims = {"sub": subject, "iat": int(now), "exp": int(now) + _UNSECURED_SECONDS}
    parts = (base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in ({"alg": "none"}, claims))
    return OAuthToken(b".".join(parts).decode() + ".", now + _UNSECURED_SECONDS)


def _read_token(url: str) -> str:
    try:
        text = Path(unquote(urlsplit(url).path)).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise AuthenticationFailedError(f"{url}: the token cannot be read: {reason}") from None
    if not text:
        raise AuthenticationFailedError(f"{url}: expected a token, found an empty file")
    return text
