"""The inputs of `kafkawire ui`: the arguments as a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.web import PageOptions, Workspace

if TYPE_CHECKING:
    import argparse


def workspace_for(args: argparse.Namespace) -> Workspace:
    """The workspace with the inputs of the command line."""
    return Workspace(PageOptions(write=args.write, export=not args.no_export))
