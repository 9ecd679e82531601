"""`kafkawire ui`: the page, served on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.cli._support.clients import add_setting_options
from kafkawire.cli._support.pages import add_page_options, serve_page

if TYPE_CHECKING:
    import argparse

HELP = "show bytes, captures, log directories and brokers in the browser, from this machine"
EXAMPLES = (
    "kafkawire ui",
    "kafkawire ui traffic.pcapng",
    "kafkawire ui /var/lib/kafka/data",
    "kafkawire ui localhost:9092 --write",
    "kafkawire ui broker:9093 -F client.properties",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="FILE|DIR|HOST:PORT",
        help="captures, log directories, the output of a pipeline, or a broker; without any, the page asks",
    )
    add_setting_options(parser)
    add_page_options(parser)


def run(args: argparse.Namespace) -> int:
    from kafkawire._extras import naming_extras

    with naming_extras("kafkawire ui"):
        from kafkawire.cli._support.page_inputs import workspace_for
    return serve_page(args, workspace_for(args))
