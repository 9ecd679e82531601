"""kill -9 of a broker while tokens are created and removed: every answer that a client got still holds afterwards.

KAFKAWIRE_CRASH_ROUNDS sets the number of kills.
"""

from __future__ import annotations

import os
from random import Random
from threading import Timer
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.security.test_sasl import PLAIN
from torture.victim import Victim

from kafkawire.client import ClientError
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.client import DelegationToken

ROUNDS = int(os.environ.get("KAFKAWIRE_CRASH_ROUNDS", "6"))


def options(victim: Victim) -> dict[str, Any]:
    return {
        "bootstrap_servers": victim.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "ann",
        "sasl_plain_password": "secret",
        "default_api_timeout_ms": 300,
    }


def change_until_it_ends(
    victim: Victim, dice: Random, kept: dict[str, DelegationToken], removed: set[str], doubtful: set[str]
) -> None:
    """Create, renew and remove tokens until the broker is gone; what was under way then may have happened or not."""
    with Admin(**options(victim)) as admin:
        while True:
            if kept and dice.random() < 0.4:
                token_id = dice.choice(sorted(kept))
                doubtful.add(token_id)
                admin.expire_delegation_token(kept.pop(token_id))
                doubtful.discard(token_id)
                removed.add(token_id)
            else:
                token = admin.create_delegation_token(renewers=["bob"])
                kept[token.token_id] = token


@pytest.mark.timeout(max(300, 30 * ROUNDS))
def test_a_kill_loses_no_token_and_brings_none_back(tmp_path: Path) -> None:
    dice = Random(11)
    kept: dict[str, DelegationToken] = {}
    removed: set[str] = set()
    doubtful: set[str] = set()
    with Victim(tmp_path) as victim:
        victim.settings |= {
            "listeners": f"SASL_PLAINTEXT://127.0.0.1:{victim.port}",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} user_ann="secret";',
            "delegation.token.secret.key": "the-secret-key",
        }
        victim.start()
        for _ in range(ROUNDS):
            shot = Timer(dice.uniform(0.1, 0.3), victim.kill)
            shot.start()
            with pytest.raises(ClientError):
                change_until_it_ends(victim, dice, kept, removed, doubtful)
            shot.join()
            victim.start()
            with Admin(**options(victim)) as admin:
                found = {each.token_id: each for each in admin.describe_delegation_tokens()}
            assert kept.items() <= found.items()
            assert not removed & found.keys()
            assert len(found.keys() - kept.keys() - doubtful) <= 1, "only the last creation may be in doubt"
            kept = found
            doubtful.clear()
        some = kept[min(kept)]
        with Admin(**{**options(victim), **some.login("SCRAM-SHA-256")}) as admin:
            assert admin.describe_cluster().nodes
