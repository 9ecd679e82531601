"""Our authorizer decides as Apache Kafka's StandardAuthorizer does, about entries that our client has created.

Rules:
- No entry is about the cluster, and `allow.everyone.if.no.acl.found` is set. So the anonymous client may administer.
- The authorized operations of a topic in Metadata are Kafka's decisions.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tests.interop.apache_kafka import ApacheBroker
from tests.interop.waiting import until

from kafkawire.broker import _acl_bits as operations
from kafkawire.broker._acls.authorizer import STANDARD, Authorizer
from kafkawire.broker._acls.entries import Entries
from kafkawire.broker._metadata.journal.files import read_kafka
from kafkawire.cli.main import main
from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin
from kafkawire.log import DiskFiles
from kafkawire.messages import MetadataRequest, MetadataResponse
from kafkawire.messages.errors import ErrorCode, InvalidRequestError
from kafkawire.wire.acls import Acl, AclFilter, Operation, Pattern, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
SETTINGS = {"authorizer.class.name": STANDARD, "allow.everyone.if.no.acl.found": "true"}
ANONYMOUS, HOST = "User:ANONYMOUS", "127.0.0.1"
TOPICS = [f"{first}{second}{third}" for first in "ab" for second in "ab" for third in ("", "a", "b", "bb")]
ROUNDS = 25


@pytest.fixture(scope="module")
def guarded(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    broker = ApacheBroker(kafka, tmp_path_factory.mktemp("guarded"), settings=SETTINGS)
    broker.start()
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in TOPICS])
    yield broker
    broker.stop()


def some_acl(random: Random) -> Acl:
    kind = random.choice([PatternType.LITERAL, PatternType.PREFIXED])
    name = random.choice(["*", "a", "b", "aa", "ab", "ba", *TOPICS])
    return Acl(
        Pattern(ResourceType.TOPIC, name, kind),
        random.choice([ANONYMOUS, "User:*", "User:b"]),
        random.choice(["*", HOST, "10.0.0.1"]),
        random.choice([each for each in Operation if Operation.ALL <= each <= Operation.ALTER_CONFIGS]),
        random.choice([Permission.DENY, *[Permission.ALLOW] * 3]),
    )


def decisions(admin: Admin) -> dict[str, int]:
    """The operations that Kafka allows on each topic; 0 for a topic that it hides."""
    wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in TOPICS]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False, include_topic_authorized_operations=True)
    answer = admin.raw(request)
    assert isinstance(answer, MetadataResponse)
    hidden = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return {
        str(each.name): 0 if each.error_code == hidden else each.topic_authorized_operations for each in answer.topics
    }


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_decisions_about_topics_are_those_of_kafka(guarded: ApacheBroker, seed: int) -> None:
    random = Random(seed)
    acls = {some_acl(random) for _ in range(random.randint(1, 12))}
    entries = Entries()
    for acl in acls:
        entries.add(uuid4(), acl)
    ours = Authorizer(entries, allow_everyone_if_no_acl=True)
    with Admin(bootstrap_servers=guarded.bootstrap) as admin:
        admin.create_acls(acls)
        until(lambda: set(admin.describe_acls()) == acls)
        try:
            theirs = decisions(admin)
        finally:
            assert set(admin.delete_acls([AclFilter()])) == acls
            until(lambda: not admin.describe_acls())
    masks = {name: ours.operations(ANONYMOUS, HOST, ResourceType.TOPIC, name) & operations.TOPIC for name in TOPICS}
    assert theirs == {name: mask if mask >> Operation.DESCRIBE & 1 else 0 for name, mask in masks.items()}


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_filters_find_what_they_find_in_kafka(guarded: ApacheBroker, seed: int) -> None:
    random = Random(seed)
    acls = {some_acl(random) for _ in range(12)}
    entries = Entries()
    for acl in acls:
        entries.add(uuid4(), acl)
    filters = [
        AclFilter(
            ResourceType.TOPIC,
            random.choice([None, "*", "a", "ab", "abb"]),
            random.choice(list(PatternType)),
            random.choice([None, "User:*", ANONYMOUS]),
            random.choice([None, "*", HOST]),
        )
        for _ in range(10)
    ]
    with Admin(bootstrap_servers=guarded.bootstrap) as admin:
        admin.create_acls(acls)
        until(lambda: set(admin.describe_acls()) == acls)
        theirs = [set(admin.describe_acls(each)) for each in filters]
        admin.delete_acls([AclFilter()])
        until(lambda: not admin.describe_acls())
    assert theirs == [{acl for acl in entries.search(each) if each.finds(acl)} for each in filters]


def test_an_entry_without_a_name_is_refused_by_kafka(guarded: ApacheBroker) -> None:
    nameless = Acl(Pattern(ResourceType.TOPIC, ""), ANONYMOUS, "*", Operation.READ, Permission.ALLOW)
    with Admin(bootstrap_servers=guarded.bootstrap) as admin, pytest.raises(InvalidRequestError):
        admin.create_acls([nameless])


def test_the_entries_in_the_journal_of_kafka_are_read(guarded: ApacheBroker) -> None:
    acl = Acl(Pattern(ResourceType.GROUP, "g", PatternType.PREFIXED), "User:b", "*", Operation.READ, Permission.ALLOW)
    with Admin(bootstrap_servers=guarded.bootstrap) as admin:
        admin.create_acls([acl])
        until(lambda: admin.describe_acls() == [acl])
    guarded.restart()
    assert list(read_kafka(DiskFiles(), guarded.data_dir / "__cluster_metadata-0").acls) == [acl]
    with Admin(bootstrap_servers=guarded.bootstrap) as admin:
        assert admin.delete_acls([AclFilter()]) == [acl]


def test_the_command_line_adds_lists_and_removes(guarded: ApacheBroker, capsys: pytest.CaptureFixture[str]) -> None:
    def acls(*arguments: str) -> list[tuple[str, str, str]]:
        assert main(["acls", *arguments, "-b", guarded.bootstrap, "--json"]) == 0
        rows = map(json.loads, capsys.readouterr().out.splitlines())
        return sorted((row["operation"], row["type"], row["name"]) for row in rows)

    client = ("--allow-principal", "User:app", "--consumer", "--topic", "aa", "--group", "app")
    expected = [("DESCRIBE", "TOPIC", "aa"), ("READ", "GROUP", "app"), ("READ", "TOPIC", "aa")]
    assert acls("add", *client) == expected
    until(lambda: acls("list") == expected)
    assert acls("list", "--group", "app") == [("READ", "GROUP", "app")]
    assert acls("list", "--principal", "User:other") == []
    assert acls("remove", *client) == expected
    until(lambda: acls("list") == [])
