"""A data directory is repaired before a broker opens it: the journal, the topics of its directories, its identity.

Rules:
- A start with less than the disk holds is never silent: every fault is one log line that names the file, the place in
  it, what is lost and what was done.
- Whole changes of a damaged journal are kept. Damaged files are kept beside the new ones.
- A partition directory of a topic that the journal neither knows nor removed is adopted: its name, index and id come
  from the directory. Its settings are unknown, so retention deletes nothing until an operator sets it.
- Directories with another topic id than their topic's are moved aside under the suffix `-stray`, as Kafka does.
- After a loss, producer ids and leader epochs continue above all that the partitions name.
- Everything is in the journal, durably, before the logs are opened. A sound directory is not changed.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import partial
from itertools import count, groupby
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kafkawire.broker._config.settings import keys
from kafkawire.broker._metadata.adoption import STRAY, Adoption
from kafkawire.broker._metadata.directories import partition_directories, partition_name
from kafkawire.broker._metadata.features import taken_over
from kafkawire.broker._metadata.journal.files import JOURNAL, JournalFiles, examine, finish, read_kafka, rewrite
from kafkawire.broker._metadata.journal.log import JournalError, encode_change
from kafkawire.broker._metadata.journal.state import JournalState
from kafkawire.broker._metadata.topics import CLUSTER_METADATA, Topics
from kafkawire.broker._ops.event_log import log_event
from kafkawire.exceptions import KafkaWireError
from kafkawire.log import Repair, checkpoints, keep_copy
from kafkawire.log.errors import storage_errors
from kafkawire.messages import uuid_text
from kafkawire.messages.errors import KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.log.storage.files import Entry, FileSystem

KAFKA: Final = ".kafka"
_NOT_OURS: Final = ("-delete", STRAY, "-future", "lost+found", KAFKA)


def restore(files: FileSystem, root: Path, config: BrokerConfig, now: int) -> None:
    """Make a data directory whole, and log every step; a fault that forbids a start is raised."""
    if not files.exists(root):
        return
    with storage_errors(root, "opening the log directory"):
        lock = files.lock(root / checkpoints.LOCK)
    try:
        repairs = plan(files, root, config, now)
        for repair in repairs:
            if repair.level >= logging.CRITICAL:
                raise JournalError(f"{repair.path}: {repair.fault}; {repair.remedy}")
        for repair in repairs:
            _report(repair)
            if repair.work is not None:
                with storage_errors(repair.path, "repairing"):
                    repair.work()
    finally:
        lock.release()


def _report(repair: Repair) -> None:
    place = {"position": repair.position} if repair.position >= 0 else {}
    words = {"fault": repair.fault, "remedy": repair.remedy}
    log_event("damaged directory", level=repair.level, file=repair.path, **place, **words)


@contextmanager
def naming_files() -> Iterator[None]:
    """Let an error that only names the data directory also name the file that the system refused."""
    try:
        yield
    except KafkaStorageError as error:
        cause = error.__cause__
        name = cause.filename if isinstance(cause, OSError) else None
        if name is None or str(name) in str(error):
            raise
        raise KafkaStorageError(f"{error.message}: {name}") from cause


def plan(files: FileSystem, root: Path, config: BrokerConfig, now: int, *, take_over: bool = False) -> list[Repair]:
    """Every fault of a data directory outside of its logs, and its remedy; nothing is changed yet.

    `take_over` moves a journal of Apache Kafka aside, and adopts its topics with their settings.
    """
    with storage_errors(root, "reading the data directory"):
        entries = sorted(files.list(root))
    return list(_Plan(files, root, config, now, take_over).repairs(entries))


class _Plan:
    """The faults of one data directory, in the order in which they are repaired."""

    def __init__(self, files: FileSystem, root: Path, config: BrokerConfig, now: int, take_over: bool) -> None:
        self._files = files
        self._root = root
        self._config = config
        self._now = now
        self._node_id = config.integer("node.id")
        self._take_over = take_over

    def repairs(self, entries: list[Entry]) -> Iterator[Repair]:
        directories = partition_directories(self._files, self._root, entries)
        groups = {name: list(found) for name, found in groupby(directories, key=lambda each: each.topic)}
        groups.pop(CLUSTER_METADATA, None)
        yield from self._identity(bool(groups))
        yield from self._odd_names(entries)
        journal, settings = examine(self._files, self._root), {}
        if journal.is_unfinished:
            words = "a restoration was interrupted after the new journal was written"
            work = partial(finish, self._files, journal.directory)
            yield Repair(journal.segments[0], -1, words, "finished", work=work)
        is_of_kafka = bool(journal.of_kafka)
        if is_of_kafka:
            if not self._take_over:
                yield self._refuse_kafka(journal)
                return
            state, moved = self._move_kafka(journal)
            yield moved
            settings = {topic.name: _known_settings(topic.configs) for topic in state.topics}
            journal = JournalFiles(journal.directory, state=state)
            state.topics, state.leader_epoch = Topics(), 0  # Kafka's broker epochs are not leader epochs
        is_lossy = bool(journal.faults) or (journal.is_missing and bool(groups))
        adoption = Adoption(self._files, self._root, self._config, journal.state, is_lossy=is_lossy, settings=settings)
        adoption.examine(groups, entries)
        found = [*_journal_faults(journal, groups, is_of_kafka), *adoption.repairs]
        levels = taken_over(journal.state.features) if is_of_kafka else ()
        acls = journal.state.acls.records() if is_of_kafka else ()
        quotas = journal.state.quotas.records() if is_of_kafka else ()
        users = journal.state.scram_users.records() if is_of_kafka else ()
        tokens = journal.state.tokens.records() if is_of_kafka else ()
        taken = [*levels, *acls, *quotas, *users, *tokens]
        change = encode_change([*taken, *adoption.changes(self._node_id)], self._now)
        yield from found
        if change:
            words = "the journal is not what the directory holds"
            yield Repair(journal.directory, -1, words, "written again", work=partial(self._write, journal, change))

    def _write(self, journal: JournalFiles, addition: bytes) -> None:
        for path in rewrite(self._files, self._root, journal, addition):
            log_event("damaged file kept", level=logging.WARNING, file=path)

    def _identity(self, has_partitions: bool) -> Iterator[Repair]:
        path = self._root / checkpoints.META
        found = checkpoints.read_properties(self._files, path)
        if found is None and not self._files.exists(path) and not has_partitions:
            return
        stated = (found or {}).get("node.id", (found or {}).get("broker.id", str(self._node_id)))
        if stated != str(self._node_id):
            remedy = f"start with -c node.id={stated}, or correct the file"
            words = f"node.id is {stated}, this broker's is {self._node_id}"
            yield Repair(path, -1, words, remedy, logging.CRITICAL, is_repaired=False)
            return
        if found is not None and found.get("cluster.id"):
            return
        fresh = uuid_text(uuid4())
        state = "is missing" if not self._files.exists(path) else "has no cluster.id"
        work = partial(self._write_identity, path, {**(found or {}), "cluster.id": fresh})
        yield Repair(path, -1, f"{state}; the cluster id is lost", f"the new cluster id is {fresh}", work=work)

    def _write_identity(self, path: Path, properties: dict[str, str]) -> None:
        if self._files.exists(path):
            keep_copy(self._files, path)
        properties = {"version": "1", "node.id": str(self._node_id), **properties}
        checkpoints.write_properties(self._files, path, properties)

    def _refuse_kafka(self, journal: JournalFiles) -> Repair:
        words = f"Apache Kafka wrote this journal ({journal.of_kafka})"
        remedy = (
            f"`kafkawire log repair {self._root} --adopt --apply` moves it to {JOURNAL}{KAFKA} and adopts the topics, "
            "with their settings where the journal can be read"
        )
        return Repair(journal.directory, -1, words, remedy, logging.CRITICAL, is_repaired=False)

    def _move_kafka(self, journal: JournalFiles) -> tuple[JournalState, Repair]:
        words = f"Apache Kafka wrote this journal ({journal.of_kafka})"
        taken = {entry.name for entry in self._files.list(self._root)}
        names = (f"{JOURNAL}{'.' + str(number) if number > 1 else ''}{KAFKA}" for number in count(1))
        target = self._root / next(name for name in names if name not in taken)
        try:
            state = read_kafka(self._files, journal.directory)
        except KafkaWireError as error:
            state = JournalState()
            words += f", and it cannot be read: {error}"
        return state, Repair(journal.directory, -1, words, f"moved to {target.name}", work=partial(self._move, target))

    def _move(self, target: Path) -> None:
        self._files.rename(self._root / JOURNAL, target)
        self._files.sync_directory(self._root)

    def _odd_names(self, entries: list[Entry]) -> Iterator[Repair]:
        for entry in entries:
            path = self._root / entry.name
            name = partition_name(entry.name)
            if name is None:
                if entry.is_directory and not entry.name.startswith(".") and not entry.name.endswith(_NOT_OURS):
                    words = "the name is not that of a partition, TOPIC-NUMBER"
                    yield Repair(path, -1, words, "left alone", is_repaired=False)
            elif entry.name != "-".join(map(str, name)):
                words = f"partition {name[1]} of {name[0]} is expected under the name {name[0]}-{name[1]}"
                yield Repair(path, -1, words, "left alone", is_repaired=False)


def _journal_faults(journal: JournalFiles, groups: Mapping[str, object], is_of_kafka: bool) -> Iterator[Repair]:
    if journal.is_missing and (groups or journal.faults) and not is_of_kafka:
        words = f"the journal is missing, the directories of {len(groups)} topics are there"
        remedy = "written again from the directories; settings of topics and of the broker are lost"
        yield Repair(journal.directory, -1, words, remedy, logging.ERROR)
        return
    whole = sum(1 for _ in journal.batches)
    for fault in journal.faults:
        level = logging.WARNING if fault.is_tail else logging.ERROR
        remedy = f"the {whole} changes that are whole are kept, and a copy of the file beside it"
        yield Repair(fault.path, fault.position, fault.fault, remedy, level)
    if journal.faults and journal.state.skipped:
        words = f"{journal.state.skipped} records are about topics whose creation is lost"
        yield Repair(journal.directory, -1, words, "skipped")


def _known_settings(configs: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in configs.items() if name in keys("topic")}
