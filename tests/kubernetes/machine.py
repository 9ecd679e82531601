"""A machine of its own for a node of Kubernetes: namespaces for processes, mounts and the network, and a cable to it.

Rules:
- Every process of the node, its containers included, lives in one namespace of processes. When the first of them ends,
  the kernel ends the others, and the cable and all mounts go with them. Nothing is searched by name.
- Settings of the kernel for the whole machine are read-only in it. A kubelet changes some of them, such as what the
  machine does with too little memory; files are in their places.
- The tests are at `HOST`. Pods have addresses of their own, and a route leads to them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HOST: Final = "10.213.0.1"
NODE: Final = "10.213.0.2"
PODS: Final = "10.214.0.0/24"
SERVICES: Final = "10.215.0.0/24"
CGROUP: Final = "kafkawire-tests"
_CABLE: Final = ("kw-tests", "kw-node")
_CGROUPS: Final = Path("/sys/fs/cgroup")
_FIRST: Final = """
mount --make-rshared /
for each in vm kernel; do mount --bind -o ro /proc/sys/$each /proc/sys/$each; done
for each in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
  file=settings-${each##*/}
  echo ${each#*=} >$file
  mount --bind $file /proc/sys/${each%=*}
done
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
trap : CHLD
while :; do sleep 60 & wait; done
"""


class Machine:
    """The namespaces of a node, named by their first process."""

    def __init__(self, first: int, logs: Path) -> None:
        self._first = first
        self._logs = logs

    def entering(self, *command: str) -> list[str]:
        """The command line that runs a command on this machine."""
        return ["nsenter", "--target", str(self._first), "--mount", "--net", "--pid", "--", *command]

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command to its end; what it printed."""
        done = subprocess.run(self.entering(*command), capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not check, f"{command}: {done.stderr}"
        return done.stdout

    @contextmanager
    def running(self, name: str, command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """A component of the node; it is ended with the block, and its messages are in a file of its name."""
        with (self._logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(self.entering(*command), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log_of(self, name: str) -> str:
        """The last messages of a component."""
        return (self._logs / f"{name}.log").read_text("utf-8", "replace")[-3000:]


@contextmanager
def machine(directory: Path) -> Iterator[Machine]:
    """A machine that is connected to this one; it ends with the block."""
    logs = directory / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL"]
        process = subprocess.Popen([*unshare, "bash", "-c", _FIRST], start_new_session=True, cwd=directory)
        stack.callback(_end, process)
        made = Machine(_first_of(process), logs)
        _connect(made)
        groups = [each / CGROUP for each in _CGROUPS.iterdir() if (each / "cgroup.procs").exists()]
        stack.callback(_remove_groups, groups)
        yield made


def _first_of(process: subprocess.Popen[bytes]) -> int:
    """The first process of the namespaces: the child of `unshare`."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 30
    while not (text := children.read_text().split()) or not _has_settled(int(text[0])):
        assert time.monotonic() < deadline, "the namespaces of the node were not made"
        time.sleep(0.05)
    return int(text[0])


def _has_settled(pid: int) -> bool:
    """Whether the machine forwards packets, which its script sets last."""
    command = ["nsenter", "--target", str(pid), "--net", "cat", "/proc/sys/net/ipv4/ip_forward"]
    own = Path("/proc/self/ns/net").readlink() != Path(f"/proc/{pid}/ns/net").readlink()
    return own and subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() == "1"


def _connect(made: Machine) -> None:
    here, there = _CABLE
    _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", str(made._first))
    _ip("address", "add", f"{HOST}/24", "dev", here)
    _ip("link", "set", here, "up")
    made.run("ip", "address", "add", f"{NODE}/24", "dev", there)
    made.run("ip", "link", "set", there, "up")
    made.run("ip", "route", "add", "default", "via", HOST)
    _ip("route", "add", PODS, "via", NODE)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)  # --kill-child ends the first process, and with it all others
    process.wait()


def _remove_groups(groups: Sequence[Path]) -> None:
    deadline = time.monotonic() + 20
    for top in groups:
        while top.exists() and time.monotonic() < deadline:
            for directory, _, _ in os.walk(top, topdown=False):
                with suppress(OSError):  # a process that is ending still belongs to it
                    Path(directory).rmdir()
            time.sleep(0.05 if top.exists() else 0)
