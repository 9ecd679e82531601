"""`kafkawire log repair`: the faults of a data directory or of one partition, and their repair.

Rules:
- Without `--apply` nothing is changed, not even a file's time.
- Faults come in groups: that of the data directory, then one per partition. If a repair fails, the rest of its group is
  not repaired, and the other groups are.
- A directory that another process holds is refused.
- The journal of a directory of Apache Kafka is changed only with `--adopt`.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.cli._support.numbers import positive
from kafkawire.cli._support.output import Progress, add_json_option, print_rows
from kafkawire.cli.registry import UsageError
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kafkawire.log import LogFinding as Finding
    from kafkawire.log import Repair
    from kafkawire.log.storage.files import DirectoryLock, DiskFiles

COLUMNS = ("file", "position", "fault", "remedy")
DESCRIPTION = """\
Find damage in a broker's data directory, or in one partition, and print the repairs. Nothing is changed without
--apply. Stop the broker first: a directory in use is refused.

Repairs:
  journal (__cluster_metadata-0)   whole changes before and after a damaged one are kept. A missing journal is written
                                   from the partition directories. Their topics keep their ids and records.
  topics the journal lost          adopted with retention.ms=-1 and retention.bytes=-1, because their settings are lost.
  a bad batch in a partition       see --keep-after
  torn tails                       truncated
  indexes, snapshots, epochs       rebuilt from the log
  checkpoints, partition.metadata  corrected, or written again

Files that lose bytes are copied first, to NAME.damaged-1 and so on beside them. Remove the copies when you no longer
need them. Exit code: 0 if there is no fault, or all faults were repaired; 1 otherwise.
"""
EPILOG = """\
examples:
  kafkawire log repair /var/lib/kafkawire                        # print the faults and their repairs
  kafkawire log repair /var/lib/kafkawire --apply
  kafkawire log repair /var/lib/kafkawire/orders-0 --keep-after --apply
"""
KEEP_AFTER = """\
keep the whole batches after a bad one. With it, only the records of the bad batch are lost: an empty batch takes
their offsets, consumers skip them, and a retry of the lost batch may be refused as out of order. Without it, the log is
truncated at the bad batch, as Kafka's recovery does: all records after it are lost too, and new records get their
offsets; consumers that had read further do not see them
"""
ADOPT = """\
take over a directory of Apache Kafka: its __cluster_metadata-0 is moved to __cluster_metadata-0.kafka, and its topics
are adopted with the settings found there. Kafka does not start on the directory until it is moved back
"""


class Outcome(NamedTuple):
    """A fault, and whether it is repaired now."""

    repair: Repair
    is_repaired: bool
    failure: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    import argparse as parsers

    parser.formatter_class = parsers.RawDescriptionHelpFormatter
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("path", type=Path, metavar="DIR", help="a broker's data directory, or one partition in it")
    parser.add_argument("--apply", action="store_true", help="apply the repairs; without it nothing is changed")
    parser.add_argument("--keep-after", action="store_true", help=_wrapped(KEEP_AFTER))
    parser.add_argument("--adopt", action="store_true", help=_wrapped(ADOPT))
    parser.add_argument(
        "--index-interval", type=positive, default=4096, metavar="BYTES", help="index.interval.bytes (4096)"
    )
    add_json_option(parser)


def _wrapped(text: str) -> str:
    return textwrap.fill(text.strip(), 10_000)


def run(args: argparse.Namespace) -> int:
    """Print the faults, repair them if asked to, and return the exit code."""
    from kafkawire.log import partitions_in
    from kafkawire.log.storage.files import DiskFiles

    if not args.path.is_dir():
        raise UsageError(f"{args.path}: expected a data directory or a partition")
    path: Path = args.path.absolute()
    is_partition = partitions_in(path) == [path]
    if not is_partition and not _is_root(path):
        raise UsageError(f"{path}: not a data directory and not a partition: it has no meta.properties and no logs")
    root, files = path.parent if is_partition else path, DiskFiles()
    lock = _lock(files, root, apply=args.apply and not is_partition)
    try:
        if is_partition:
            outcomes = list(_done(_plan_partition(files, path, list(_verified(path, args)), args), args.apply))
        else:
            outcomes = list(_repair_root(files, root, args))
    finally:
        if lock is not None:
            lock.release()
    _print(outcomes, args)
    return 0 if all(outcome.is_repaired for outcome in outcomes) else 1


def _is_root(path: Path) -> bool:
    from kafkawire.broker import partition_name
    from kafkawire.log.checkpoints import META

    return (path / META).exists() or any(each.is_dir() and partition_name(each.name) for each in path.iterdir())


def _lock(files: DiskFiles, root: Path, *, apply: bool) -> DirectoryLock | None:
    """Lock the directory. A dry run does not create the lock file."""
    from kafkawire.log.checkpoints import LOCK

    return files.lock(root / LOCK) if apply or (root / LOCK).exists() else None


def _verified(path: Path, args: argparse.Namespace) -> Iterator[Finding]:
    from kafkawire.log import verify_paths

    with Progress("verifying") as progress:
        for finding in verify_paths([path], interval=args.index_interval):
            progress.advance(1)
            yield finding


def _repair_root(files: DiskFiles, root: Path, args: argparse.Namespace) -> Iterator[Outcome]:
    from kafkawire.broker import JOURNAL, partition_name
    from kafkawire.log import partitions_in, plan_checkpoints
    from kafkawire.log.checkpoints import PARTITION

    restored = list(_done(_plan_root(files, root, args), args.apply))
    yield from restored
    is_journal_known = any(root / JOURNAL in (each.repair.path, *each.repair.path.parents) for each in restored)
    findings: dict[Path, list[Finding]] = {}
    for finding in _verified(root, args):
        if finding.path.name != PARTITION:
            findings.setdefault(finding.path.parent, []).append(finding)
    compacted = _compacted(files, root)
    for partition in partitions_in(root):
        if not partition_name(partition.name) or (partition.name == JOURNAL and _is_of_kafka(files, root)):
            continue
        is_compacted = compacted.get(partition.name.rpartition("-")[0])
        repairs = _plan_partition(files, partition, findings.get(partition, []), args, is_compacted)
        if partition.name != JOURNAL or not is_journal_known:
            yield from _done(repairs, args.apply)
        elif args.apply:
            list(_done(repairs, args.apply))  # the indexes of the journal that was just written
    yield from _done(plan_checkpoints(files, root, findings.get(root, [])), args.apply)


def _plan_root(files: DiskFiles, root: Path, args: argparse.Namespace) -> list[Repair]:
    from kafkawire.broker import JOURNAL, BrokerConfig
    from kafkawire.broker import plan_restoration as plan
    from kafkawire.log import Repair
    from kafkawire.log.checkpoints import META, read_properties
    from kafkawire.log.directory import wall_clock

    if _is_of_kafka(files, root) and not args.adopt:
        return []
    properties = read_properties(files, root / META) or {}
    node_id = properties.get("node.id", properties.get("broker.id", ""))
    config = BrokerConfig({"node.id": node_id} if node_id.isdigit() else {})
    try:
        return plan(files, root, config, wall_clock(), take_over=args.adopt)
    except KafkaWireError as error:
        return [Repair(root / JOURNAL, -1, str(error), "left alone", is_repaired=False)]


def _is_of_kafka(files: DiskFiles, root: Path) -> bool:
    """Whether Apache Kafka keeps, or kept before its own journal, the metadata of this directory."""
    from kafkawire.broker import is_of_kafka
    from kafkawire.log.checkpoints import META, read_properties

    return is_of_kafka(files, root) or (read_properties(files, root / META) or {}).get("version") == "0"


def _compacted(files: DiskFiles, root: Path) -> dict[str, bool]:
    """Whether each topic of the journal is compacted."""
    from kafkawire.broker import examine_journal as examine

    try:
        topics = examine(files, root).state.topics
    except KafkaWireError:
        return {}
    policies = {topic.name: topic.configs.get("cleanup.policy") for topic in topics}
    return {name: "compact" in policy for name, policy in policies.items() if policy is not None}


def _plan_partition(
    files: DiskFiles,
    partition: Path,
    findings: list[Finding],
    args: argparse.Namespace,
    is_compacted: bool | None = None,
) -> list[Repair]:
    from kafkawire.log import plan_partition
    from kafkawire.log.checkpoints import LOG_STARTS, read_offsets

    topic, _, number = partition.name.rpartition("-")
    starts = read_offsets(files, partition.parent / LOG_STARTS) or {}
    start = starts.get((topic, int(number)), 0) if number.isdigit() else 0
    return plan_partition(
        files,
        partition,
        findings,
        keep_after=args.keep_after,
        is_compacted=is_compacted,
        log_start_offset=start,
    )


def _done(repairs: list[Repair], apply: bool) -> Iterator[Outcome]:
    """Apply the repairs of one group in order, up to the first that fails."""
    failure = ""
    for repair in repairs:
        if apply and not failure and repair.work is not None:
            try:
                repair.work()
            except (KafkaWireError, OSError) as error:
                failure = str(error)
        yield Outcome(repair, apply and repair.is_repaired and not failure, failure)


def _print(outcomes: list[Outcome], args: argparse.Namespace) -> None:
    rows: list[tuple[object, ...]] = []
    for repair, is_repaired, failure in outcomes:
        remedy = f"failed: {failure}" if failure else repair.remedy
        place = repair.position if repair.position >= 0 else None
        rows.append((str(repair.path), place, repair.fault, remedy, *([is_repaired] if args.json else [])))
    if rows or args.json:
        print_rows((*COLUMNS, *(["repaired"] if args.json else [])), rows, as_json=args.json)
    if args.json:
        return
    if not rows:
        print("no fault found")
    elif args.apply:
        repaired = sum(outcome.is_repaired for outcome in outcomes)
        print(f"{len(rows)} faults, {repaired} repaired")
    else:
        print(f"{len(rows)} faults; nothing was changed; --apply runs the remedies")
