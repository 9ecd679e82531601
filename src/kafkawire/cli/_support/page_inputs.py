"""The inputs of `kafkawire ui`: the arguments as a workspace."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kafkawire.cli.registry import UsageError
from kafkawire.web import PageOptions, Workspace

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

_CAPTURES = (b"\xa1\xb2", b"\xd4\xc3", b"\x4d\x3c", b"\x0a\x0d\x0d\x0a", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


def workspace_for(args: argparse.Namespace) -> Workspace:
    """The workspace with the inputs of the command line."""
    workspace = Workspace(PageOptions(write=args.write, export=not args.no_export))
    settings = _settings(args) if args.options or args.options_file else {}
    for text in args.inputs:
        add_input(workspace, text, settings)
    return workspace


def add_input(workspace: Workspace, text: str, settings: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Add one input: a file, a directory, or a broker with the settings of its clients."""
    path = Path(text)
    if path.is_dir():
        _add_directory(workspace, path)
    elif path.is_file():
        _add_file(workspace, path)
    elif _is_broker(text):
        from kafkawire.web import BrokerSource

        _open(workspace, BrokerSource({**settings, "bootstrap_servers": text}), "topics")
    else:
        raise UsageError(f"{text}: expected a file, a directory, or a broker as HOST:PORT")


def _settings(args: argparse.Namespace) -> Mapping[str, Any]:
    """The settings of clients; they are imported only if some are given, so that the server listens at once."""
    from kafkawire.cli._support.clients import given_settings, of_every_client

    if not any(map(_is_broker, args.inputs)):
        raise UsageError("-X and -F are settings for a broker: name it as HOST:PORT")
    return of_every_client(given_settings(args))


def _is_broker(text: str) -> bool:
    return ":" in text and text.rpartition(":")[2].isdecimal() and not Path(text).exists()


def _add_directory(workspace: Workspace, path: Path) -> None:
    from kafkawire.inspect import find_partitions

    if (path / "manifest.json").is_file():
        from kafkawire.web import RunSource

        _open(workspace, RunSource(path), "")
        return
    captures = sorted(each for each in path.iterdir() if each.is_file() and _is_capture(each))
    if captures:
        _add_captures(workspace, captures)
    elif find_partitions(path):
        from kafkawire.web import LogSource

        _open(workspace, LogSource([path]), "")
    else:
        raise UsageError(f"{path}: neither captures nor partitions in this directory")


def _add_file(workspace: Workspace, path: Path) -> None:
    if _is_capture(path):
        _add_captures(workspace, [path])
        return
    from kafkawire.web import document_of_file

    name = workspace.keep(document_of_file(path))
    workspace.given = workspace.document(name)
    workspace.start = workspace.start or "/bytes/given"


def _add_captures(workspace: Workspace, paths: Sequence[Path]) -> None:
    from kafkawire.web import CaptureSource

    _open(workspace, CaptureSource(paths), "exchanges")


def _open(workspace: Workspace, source: Any, view: str) -> None:
    name = workspace.add_source(source)
    workspace.start = workspace.start or f"/{name}" + (f"/{view}" if view else "")


def _is_capture(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith(_CAPTURES)
