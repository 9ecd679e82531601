"""Topics as people name them: names, lists with commas, shell patterns, and partitions of a topic.

Rules:
- A shell pattern stands for existing topics, because topic names cannot contain `*`, `?` or `[`. A pattern without
  topics is an error.
- Kafka's internal topics are included only if they are named, or on demand.
- TOPIC:0,1 stands for partitions of a topic.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from kafkawire.cli.registry import UsageError
from kafkawire.messages.errors import UnknownTopicOrPartitionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.client import TopicInfo, TopicPartition
    from kafkawire.client.blocking import Admin


def split_names(texts: Iterable[str]) -> list[str]:
    """The names in texts that may be lists with commas, each once.

    >>> split_names(["a,b", "c", "a"])
    ['a', 'b', 'c']
    """
    named = (name for text in texts for name in ([text] if text.startswith("^") else text.split(",")))
    return list(dict.fromkeys(name for name in named if name))


def is_pattern(name: str) -> bool:
    """Whether a name is a shell pattern."""
    return any(letter in name for letter in "*?[")


def as_regex(name: str) -> str:
    """A shell pattern as the ^pattern that a subscription takes; any other name as it is.

    >>> as_regex("test-*"), as_regex("orders"), as_regex("^a|b")
    ('^test\\\\-.*$', 'orders', '^a|b')
    """
    if name.startswith("^") or not is_pattern(name):
        return name
    return "^" + re.escape(name).replace(r"\*", ".*").replace(r"\?", ".").replace(r"\[", "[").replace(r"\]", "]") + "$"


def find_topics(
    admin: Admin, texts: Iterable[str], *, internal: bool = False, may_miss: bool = False
) -> list[TopicInfo]:
    """The topics that match names and patterns; all topics without names."""
    names = split_names(texts)
    if names and not may_miss and not any(map(is_pattern, names)):
        return admin.describe_topics(names)
    there = {each.name: each for each in admin.describe_topics()}
    shown = [name for name in there if internal or not there[name].is_internal]
    found: dict[str, TopicInfo] = {}
    for name in names or ["*"]:
        fitting = [name] if name in there else fnmatch.filter(shown, name)
        if not fitting and names and not may_miss:
            raise UnknownTopicOrPartitionError(f"no topic {name!r}")
        found |= {each: there[each] for each in fitting}
    return list(found.values())


def find_places(admin: Admin, texts: Iterable[str]) -> list[TopicPartition]:
    """The partitions of texts such as TOPIC, TOPIC:0,1 and 'TOPIC-*'. Several texts may name the same topic."""
    from kafkawire.client import TopicPartition

    found = []
    for name, numbers in _split_places(texts):
        for topic in find_topics(admin, [name]):
            for number in numbers or map(str, topic.partitions):
                if not number.isdecimal() or int(number) not in topic.partitions:
                    raise UsageError(
                        f"topic {topic.name!r} has no partition {number!r}, only 0 to {len(topic.partitions) - 1}"
                    )
                found.append(TopicPartition(topic.name, int(number)))
    return list(dict.fromkeys(found))


def _split_places(texts: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Names with their partitions; a number after a partition is a partition, not a name."""
    found: list[tuple[str, list[str]]] = []
    for text in texts:
        has_numbers = False
        for word in text.split(","):
            name, colon, number = word.partition(":")
            if colon:
                found.append((name, [number]))
            elif has_numbers and word.isdecimal():
                found[-1][1].append(word)
            elif word:
                found.append((word, []))
            has_numbers = bool(colon) or (has_numbers and word.isdecimal())
    return found
