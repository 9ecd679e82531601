"""`kafkawire users`: list, set and delete SCRAM users of a cluster.

Rules:
- The password comes from KAFKAWIRE_PASSWORD or from the terminal, not from the command line, which other processes of
  the machine can see.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse

HELP = "list, set and delete SCRAM users"
EXAMPLES = (
    "kafkawire users list",
    "KAFKAWIRE_PASSWORD=... kafkawire users set alice",
    "kafkawire users set alice --mechanism SCRAM-SHA-256 --iterations 8192",
    "kafkawire users delete alice",
)
_PASSWORD: Final = "KAFKAWIRE_PASSWORD"
_MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_COLUMNS: Final = ("user", "mechanism", "iterations")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = verbs.add_parser("list", help="list users", description="list users, and the mechanisms that they have")
    listing.add_argument("names", nargs="*", metavar="USER", help="list only these users")
    setting = verbs.add_parser("set", help="create a user or set its password", description="set a password")
    deleting = verbs.add_parser("delete", help="delete a user", description="delete the credential of a user")
    for verb in (setting, deleting):
        verb.add_argument("name", metavar="USER")
        verb.add_argument("--mechanism", type=str.upper, choices=_MECHANISMS, default="SCRAM-SHA-512")
    setting.add_argument("--iterations", type=int, default=4096, help="rounds of hashing, 4096 to 16384 (default 4096)")
    for verb in (listing, setting, deleting):
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    if args.verb == "list":
        with Admin(client_config(args)) as admin:
            output.print_rows(_COLUMNS, admin.describe_users(args.names or None), as_json=args.json)
        return 0
    if args.verb == "set":
        password = _password(args.name)
        with Admin(client_config(args)) as admin:
            admin.set_user(args.name, password, mechanism=args.mechanism, iterations=args.iterations)
            output.print_rows(_COLUMNS, admin.describe_users([args.name]), as_json=args.json)
        return 0
    with Admin(client_config(args)) as admin:
        admin.delete_user(args.name, mechanism=args.mechanism)
    return 0


def _password(name: str) -> str:
    from getpass import getpass

    given = os.environ.get(_PASSWORD)
    if given is None:
        if not sys.stdin.isatty():
            raise UsageError(f"users set: set {_PASSWORD}, or run it on a terminal")
        given = getpass(f"Password of {name}: ")
        if given != getpass("Again: "):
            raise UsageError("users set: the passwords differ")
    if not given:
        raise UsageError("users set: the password is empty")
    return given
