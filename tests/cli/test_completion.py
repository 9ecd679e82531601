"""`kafkawire completion`: the values that are offered, and the shells that offer them."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kafkawire.cli.main import main
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 60.0
NOBODY = "127.0.0.1:1"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A broker with three topics, one with a setting of its own, and a group."""
    with RunningBroker(config={"auto.create.topics.enable": False}) as running:
        for topic in ("orders", "orders-late", "refunds"):
            running.create_topic(topic)
        address = running.bootstrap_servers
        assert main(["configs", "set", "topic", "orders", "retention.ms=3600000", "-b", address]) == 0
        running.produce("orders", b"x")
        assert main(["consume", "orders", "-G", "billing team", "-e", "-q", "-b", address]) == 0
        yield address


def offered(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The values for the last word."""
    capsys.readouterr()
    assert main(["completion", "words", "--", *words]) == 0
    return [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]


def offered_in(capsys: pytest.CaptureFixture[str], line: str) -> list[str]:
    """The values for a line of bash."""
    capsys.readouterr()
    assert main(["completion", "words", "--line", line]) == 0
    return [each.partition("\t")[0] for each in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["tra"], ["transactions"]),
        (["--v"], ["--version"]),
        (["topics", "de"], ["describe", "delete"]),
        (["consume", "--iso"], ["--isolation"]),
        (["consume", "--isolation", ""], ["read_committed", "read_uncommitted"]),
        (["consume", "--isolation=read_c"], ["--isolation=read_committed"]),
        (["configs", "set", "bro"], ["broker", "broker-logger"]),
        (["consume", "t", "-X", "ssl.caf"], ["ssl.cafile="]),
        (["serve", "-c", "num.part"], ["num.partitions="]),
        (["errors", "not_leader"], ["NOT_LEADER_OR_FOLLOWER"]),
        (["api", "FetchS"], ["FetchSnapshot"]),
        (["api", "show", "FetchS"], ["FetchSnapshot"]),
        (["log", "dump", ""], ["@files"]),
        (["serve", "--config", "x"], ["@files"]),
        (["topics", "create", "ord"], []),
        (["no-such-command", "x"], []),
        (["topics", "no-such-verb", "x"], []),
        (["consume", "--no-such-option", "--is"], ["--isolation"]),
        (["produce", "-b", NOBODY, "topic", "file", "--", "-"], ["@files"]),
    ],
)
def test_words_without_a_cluster(words: list[str], values: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert offered(capsys, *words) == values


def test_an_option_is_offered_once_unless_it_can_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    after = offered(capsys, "topics", "create", "a", "--dry-run", "-c", "a=b", "-")
    assert "--dry-run" not in after
    assert "-c" in after


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["topics", "delete", "ord"], ["orders", "orders-late"]),
        (["topics", "delete", "refunds,orders-"], ["refunds,orders-late"]),
        (["topics", "describe", "__"], ["__consumer_offsets"]),
        (["consume", "-t", "re"], ["refunds"]),
        (["consume", "-tre"], ["-trefunds"]),
        (["consume", "-G", "b"], ["billing team"]),
        (["groups", "describe", ""], ["billing team"]),
        (["groups", "reset", "billing team", "-t", "ref"], ["refunds"]),
        (["configs", "describe", "topic", "ref"], ["refunds"]),
        (["configs", "describe", "group", ""], ["billing team"]),
        (["configs", "describe", "broker", ""], ["1"]),
        (["configs", "set", "topic", "orders", "retention."], ["retention.bytes=", "retention.ms="]),
        (["configs", "set", "topic", "orders", "retention.ms="], ["retention.ms=3600000"]),
        (["configs", "set", "topic", "orders", "preallocate="], ["preallocate=false", "preallocate=true"]),
        (["configs", "unset", "topic", "orders", "ret"], ["retention.ms"]),
        (["configs", "set", "broker", "1", "node."], []),
        (["topics", "create", "new", "-c", "cleanup"], ["cleanup.policy="]),
    ],
)
def test_names_of_the_cluster(
    cluster: str,
    words: list[str],
    values: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KAFKAWIRE_BOOTSTRAP_SERVERS", cluster)
    assert offered(capsys, *words) == values


def test_the_cluster_is_the_one_of_the_line(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert offered(capsys, "topics", "delete", "-b", cluster, "refunds", "o") == ["orders", "orders-late"]
    assert offered_in(capsys, f"kafkawire topics delete --bootstrap-server={cluster} o") == ["orders", "orders-late"]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("kafkawire configs set topic orders preallocate=", ["false", "true"]),
        ("kafkawire configs set topic 'ord", ["orders", "orders-late"]),
        ('kafkawire groups delete "bil', ["billing team"]),
        ("kafkawire groups delete billing\\ t", ["billing team"]),
        ("kafkawire groups delete billing\\", ["billing team"]),
    ],
)
def test_a_line_of_bash(
    cluster: str, line: str, values: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKAWIRE_BOOTSTRAP_SERVERS", cluster)
    assert offered_in(capsys, line) == values


def test_a_cluster_that_does_not_answer_is_given_up_soon(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["completion", "words", "--", "topics", "delete", "-b", address, "o"]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"kafkawire: {address} did not answer in 1 s\n")


def test_other_commands_do_not_import_completion() -> None:
    code = "import sys; from kafkawire.cli.main import main; main(['topics', 'list', '-b', '127.0.0.1:1'])"
    code += "; print([name for name in sys.modules if 'completion' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.endswith("[]\n")


class Terminal:
    """A shell that a person types into."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._pid, self._file = pty.fork()
        if self._pid == 0:  # pragma: no cover - the shell
            os.execvpe(command[0], command, environment)
        self._seen = b""

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def wait_for(self, pattern: str) -> str:
        """The output of the shell up to the end of a pattern."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(pattern.encode(), self._seen)):
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern!r} is not in {self._seen!r}"
            if select.select([self._file], [], [], left)[0]:
                self._seen += os.read(self._file, 65536)
        seen, self._seen = self._seen[: found.end()], self._seen[found.end() :]
        return seen.decode(errors="replace")

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._file)


def environment_of(tmp_path: Path, cluster: str) -> dict[str, str]:
    """Variables of a shell that finds this kafkawire first on its path."""
    command = tmp_path / "bin" / "kafkawire"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafkawire "$@"\n')
    command.chmod(0o755)
    return os.environ | {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "KAFKAWIRE_BOOTSTRAP_SERVERS": cluster,
        "HOME": str(tmp_path),
        "ZDOTDIR": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "TERM": "dumb",
    }


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; `apt-get install {name}`")
    return found


@contextmanager
def terminal(command: list[str], environment: dict[str, str]) -> Iterator[Terminal]:
    opened = Terminal(command, environment)
    try:
        yield opened
    finally:
        opened.close()


TYPED = [
    ("kafkawire transac\t", r"kafkawire transactions "),
    ("kafkawire topics describe ref\t", r"topics describe refunds "),
    ("kafkawire consume -G bil\t", r"consume -G billing\\ team "),
    ("kafkawire configs set topic orders retention.m\tX", r"orders retention\.ms=X"),
    ("kafkawire configs set topic orders preallocate=f\t", r"preallocate=false "),
    ("kafkawire log dump spec\t", r"log dump special\.log "),
    ("true; kafkawire topics delete ref\t", r"topics delete refunds "),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_tab_key_completes(name: str, cluster: str, tmp_path: Path) -> None:
    path = shell(name)
    (tmp_path / "special.log").touch()
    options = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[name]
    with terminal([path, *options], environment_of(tmp_path, cluster)) as typing:
        typing.type(f"cd '{tmp_path}'; PS1='$ '; source <(kafkawire completion {name}); echo rea''dy\n")
        typing.wait_for("ready\r\n")
        for typed, becomes in TYPED:
            typing.type(typed)
            typing.wait_for(becomes)
            typing.type("\x15" if name == "zsh" else "\x05\x15")  # removes the line


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("kafkawire transac", ["transactions"]),
        ("kafkawire topics describe ord", ["orders", "orders-late"]),
        ("kafkawire consume -G bil", ["billing team"]),
        ("kafkawire configs set topic orders retention.m", ["retention.ms="]),
        ("kafkawire configs set topic orders preallocate=f", ["preallocate=false"]),
        ("kafkawire log dump spec", ["special.log"]),
        ("true; kafkawire topics delete ref", ["refunds"]),
    ],
)
def test_fish_completes(typed: str, values: list[str], cluster: str, tmp_path: Path) -> None:
    path = shell("fish")
    (tmp_path / "special.log").touch()
    script = f"kafkawire completion fish | source; complete -C '{typed}'"
    done = subprocess.run(
        [path, "--no-config", "-c", script],
        env=environment_of(tmp_path, cluster),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == values
