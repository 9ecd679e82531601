"""`kafkawire api matrix`: the versions of APIs in the releases of Apache Kafka.

Rules:
- Without an option, a column is a release and a row is an API; --release and --between have one row per API.
- The version that a client and a broker of two releases use is the highest that both have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.cli._support import output
from kafkawire.cli.registry import UsageError
from kafkawire.messages import UnknownMessageError, api
from kafkawire.messages.releases import (
    UnknownReleaseError,
    api_name,
    differences,
    find_release,
    release_names,
    versions_in,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kafkawire.messages.schema import Versions


def print_matrix(args: argparse.Namespace) -> int:
    """Print the part of the matrix that the arguments choose."""
    try:
        wanted = {api(int(name) if name.isdecimal() else name).key for name in args.names}
        if args.between:
            _print_between(find_release(args.between[0]), find_release(args.between[1]), wanted, as_json=args.json)
        elif args.release:
            _print_release(find_release(args.release), wanted, as_json=args.json)
        else:
            _print_all(wanted, as_json=args.json)
    except (UnknownMessageError, UnknownReleaseError) as error:
        raise UsageError(str(error)) from error
    return 0


def _print_release(release: str, wanted: set[int], *, as_json: bool) -> None:
    rows = []
    for key, versions in sorted(versions_in(release).items()):
        if not wanted or key in wanted:
            common = versions & api(key).versions
            rows.append((key, api_name(key), str(versions), str(api(key).versions), common.last if common else None))
    output.print_rows(("key", "api", release, "kafkawire", "used"), rows, as_json=as_json)


def _print_between(old: str, new: str, wanted: set[int], *, as_json: bool) -> None:
    rows = []
    for each in differences(versions_in(old), versions_in(new)):
        if not wanted or each.key in wanted:
            common = each.before & each.after if each.before and each.after else None
            used = common.last if common else None
            rows.append((each.key, each.name, _text(each.before), _text(each.after), used, each.kind))
    output.print_rows(("key", "api", old, new, "used", "change"), rows, as_json=as_json)


def _print_all(wanted: set[int], *, as_json: bool) -> None:
    output.print_rows(("key", "api", *release_names()), _cells(wanted), as_json=as_json)


def _cells(wanted: set[int]) -> Iterator[tuple[object, ...]]:
    keys = sorted({key for release in release_names() for key in versions_in(release)})
    for key in keys:
        if not wanted or key in wanted:
            yield (key, api_name(key), *(_text(versions_in(release).get(key)) for release in release_names()))


def _text(versions: Versions | None) -> str | None:
    return None if versions is None else str(versions)
