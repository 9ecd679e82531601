"""`kafkawire tokens`: create, renew, expire and list delegation tokens (KIP-48).

Rules:
- The HMAC is the password of the token. `create` prints it once; `list` prints it with --show-hmac only.
- `renew` and `expire` take the HMAC from KAFKAWIRE_TOKEN_HMAC or from the terminal, not from the command line, which
  other processes of the machine can see. They also take the id of a token that the client may see.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.cli._support.numbers import span
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from kafkawire.client import DelegationToken
    from kafkawire.client.blocking import Admin

HELP = "create, renew, expire and list delegation tokens"
EXAMPLES = (
    "kafkawire tokens create -F client.properties --renewer User:spark",
    "kafkawire tokens create -F client.properties --owner User:alice --max-lifetime 12h",
    "kafkawire tokens list -F client.properties",
    "kafkawire tokens renew TOKEN_ID -F client.properties --period 1h",
    "KAFKAWIRE_TOKEN_HMAC=... kafkawire tokens expire -F client.properties",
)
_HMAC: Final = "KAFKAWIRE_TOKEN_HMAC"
_COLUMNS: Final = ("token_id", "owner", "requester", "renewers", "issued", "expires", "max")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    creating = verbs.add_parser("create", help="create a token", description="create a token, and print its HMAC")
    creating.add_argument("--owner", metavar="User:NAME", help="the owner (default: you); needs CREATE_TOKENS")
    creating.add_argument(
        "--renewer", action="append", default=[], metavar="User:NAME", help="also lets this principal renew it"
    )
    creating.add_argument(
        "--max-lifetime",
        type=span,
        default=-1,
        metavar="TIME",
        help="longest lifetime, such as 12h; the broker limits it",
    )
    renewing = verbs.add_parser("renew", help="renew a token", description="extend the lifetime of a token")
    expiring = verbs.add_parser("expire", help="end a token", description="end a token now, or at a later time")
    for verb, words in ((renewing, "the broker's"), (expiring, "now")):
        verb.add_argument(
            "token_id",
            nargs="?",
            metavar="TOKEN_ID",
            help=f"id of the token (default: the one whose HMAC is in {_HMAC})",
        )
        verb.add_argument(
            "--period", type=span, default=-1, metavar="TIME", help=f"time from now, such as 1h (default: {words})"
        )
    listing = verbs.add_parser("list", help="list tokens", description="list the tokens that you may see")
    listing.add_argument(
        "--owner", action="append", default=[], metavar="User:NAME", help="list only tokens of this owner"
    )
    listing.add_argument("--show-hmac", action="store_true", help="print the HMACs, which are passwords")
    for verb in (creating, renewing, expiring, listing):
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    with Admin(client_config(args)) as admin:
        if args.verb == "create":
            token = admin.create_delegation_token(
                owner=args.owner, renewers=args.renewer, max_lifetime_ms=args.max_lifetime
            )
            _print([token], args, with_hmac=True)
        elif args.verb == "list":
            _print(admin.describe_delegation_tokens(args.owner or None), args, with_hmac=args.show_hmac)
        else:
            named = _named(admin, args.token_id) if args.token_id else _hmac()
            change = admin.renew_delegation_token if args.verb == "renew" else admin.expire_delegation_token
            output.print_rows(("expires",), [(_time(change(named, period_ms=args.period)),)], as_json=args.json)
    return 0


def _named(admin: Admin, token_id: str) -> DelegationToken:
    """The token with an id, among those that the client may see."""
    found = [each for each in admin.describe_delegation_tokens() if each.token_id == token_id]
    if not found:
        raise UsageError(f"no token {token_id!r}, or you may not see it: `kafkawire tokens list` lists those you may")
    return found[0]


def _hmac() -> str:
    from getpass import getpass

    given = os.environ.get(_HMAC)
    if given is None:
        if not sys.stdin.isatty():
            raise UsageError(f"name a token by its id, or set {_HMAC}")
        given = getpass("HMAC of the token: ")
    return given.strip()


def _print(tokens: Iterable[DelegationToken], args: argparse.Namespace, *, with_hmac: bool) -> None:
    columns = (*_COLUMNS, "hmac") if with_hmac else _COLUMNS
    rows = []
    for token in tokens:
        times = (_time(each) for each in (token.issued_ms, token.expires_ms, token.max_ms))
        row = (token.token_id, token.owner, token.requester, ",".join(token.renewers), *times)
        rows.append((*row, token.password) if with_hmac else row)
    output.print_rows(columns, rows, as_json=args.json)


def _time(milliseconds_since_1970: int) -> str:
    return datetime.fromtimestamp(milliseconds_since_1970 / 1000, UTC).isoformat(timespec="seconds")
