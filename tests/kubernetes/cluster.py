"""A Kubernetes cluster of one node: etcd, the API server, controllers, the scheduler, containerd, a kubelet, a proxy.

Rules:
- All of them are the real programs, on a machine of their own (`machine.py`).
- Access is controlled by roles. The tests act as an administrator or as a service account, by its token.
- DNS is ours (`names.py`), because a pod needs only the names of services.
"""

from __future__ import annotations

import json
import secrets
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.kubernetes.machine import CGROUP, NODE, PODS, SERVICES, machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.kubernetes.machine import Machine
    from tests.kubernetes.programs import Programs

URL: Final = f"https://{NODE}:6443"
PAUSE: Final = "kafkawire.test/pause:1"
_NAME: Final = "node-1"
_NAMES: Final = Path(__file__).with_name("names.py")


class Cluster:
    """A running cluster: its API, and the images of its node."""

    def __init__(self, node: Machine, directory: Path, programs: Programs, token: str) -> None:
        self._node = node
        self._directory = directory
        self._programs = programs
        self._token = token
        self.authority = directory / "certificates" / "apiserver.crt"
        self._trusted: ssl.SSLContext | None = None

    def ask(self, path: str, *, method: str = "GET", body: Mapping[str, Any] | None = None) -> Any:
        """A call of the API as the administrator; the parsed response."""
        self._trusted = self._trusted or ssl.create_default_context(cafile=str(self.authority))
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(URL + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60, context=self._trusted) as response:
            text = response.read()
        return json.loads(text) if text[:1] == b"{" else text.decode()

    def apply(self, file: Path) -> None:
        """Create what a manifest describes, as `kubectl apply` does."""
        self.kubectl("apply", "-f", str(file))

    def kubectl(self, *words: str) -> str:
        """Run kubectl as the administrator; what it printed."""
        command = ["kubectl", "--kubeconfig", str(self.access("admin", self._token)), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def account(self, namespace: str, name: str) -> Path:
        """The kubeconfig of a service account."""
        token = self.kubectl("create", "token", name, "-n", namespace, "--duration", "4h").strip()
        return self.access(f"{namespace}-{name}", token, namespace)

    def access(self, name: str, token: str, namespace: str = "default") -> Path:
        """The kubeconfig of the user of a token."""
        file = self._directory / f"{name}.kubeconfig"
        cluster = {"server": URL, "certificate-authority": str(self.authority)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": name, "namespace": namespace}}],
            "current-context": "tests",
        }
        file.write_text(json.dumps(content))
        return file

    def pods(self, namespace: str, label: str = "") -> list[dict[str, Any]]:
        """The pods with a label, in the order of their names."""
        chosen = f"?labelSelector={label.replace('=', '%3D')}" if label else ""
        items = self.ask(f"/api/v1/namespaces/{namespace}/pods{chosen}")["items"]
        return sorted(items, key=lambda pod: str(pod["metadata"]["name"]))

    def log(self, namespace: str, pod: str) -> str:
        """The output of the container of a pod."""
        return str(self.ask(f"/api/v1/namespaces/{namespace}/pods/{pod}/log"))

    def delete_pod(self, namespace: str, pod: str, *, grace: int | None = None) -> None:
        """Delete a pod; a grace of 0 kills it."""
        body = {} if grace is None else {"gracePeriodSeconds": grace}
        self.ask(f"/api/v1/namespaces/{namespace}/pods/{pod}", method="DELETE", body=body)

    def load_image(self, archive: Path) -> None:
        """Give the node the images of an archive, as a registry would."""
        self._node.run(*self._ctr(), "images", "import", str(archive))

    def has_image(self, name: str) -> bool:
        return name in self._node.run(*self._ctr(), "images", "ls", "-q").split()

    def _ctr(self) -> list[str]:
        return ["ctr", "--address", str(self._directory / "containerd.sock"), "--namespace", "k8s.io"]


@contextmanager
def cluster(directory: Path, images: Path, programs: Programs) -> Iterator[Cluster]:
    """A cluster with one ready node; `images` keeps the images of its node from one run to the next."""
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        node = stack.enter_context(machine(directory))
        made = Cluster(node, directory, programs, token)
        _prepare(directory, token)
        for name, command in _components(made, directory, images, programs).items():
            stack.enter_context(node.running(name, command))
            if name == "kube-apiserver":
                _wait(node, name, lambda: made.ask("/readyz") == "ok")
            elif name == "containerd":
                _wait(node, name, lambda: (directory / "containerd.sock").exists())
                if not made.has_image(PAUSE):
                    made.load_image(programs.pause)
        _wait(node, "kubelet", lambda: _is_ready(made))
        stack.callback(_delete_all_pods, made)
        yield made


def _components(made: Cluster, directory: Path, images: Path, programs: Programs) -> dict[str, list[str]]:
    admin = str(made.access("admin", made._token))
    etcd, peers = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
    keys = str(directory / "accounts.key")
    kube = {name: str(programs.kubernetes / name) for name in programs.COMPONENTS}
    containerd = _containerd(directory, images)
    kubelet = _kubelet(directory)
    return {
        "etcd": [
            *(kube["etcd"], "--data-dir", str(directory / "etcd"), "--listen-client-urls", etcd),
            *("--advertise-client-urls", etcd, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
            *("--initial-cluster", f"default={peers}"),
        ],
        "kube-apiserver": [
            *(kube["kube-apiserver"], f"--etcd-servers={etcd}", "--secure-port=6443", f"--advertise-address={NODE}"),
            *(f"--cert-dir={directory / 'certificates'}", f"--service-cluster-ip-range={SERVICES}"),
            *("--authorization-mode=Node,RBAC", f"--token-auth-file={directory / 'tokens.csv'}"),
            *("--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={keys}"),
            *(f"--service-account-signing-key-file={keys}", "--kubelet-preferred-address-types=InternalIP"),
        ],
        "kube-controller-manager": [
            *(kube["kube-controller-manager"], f"--kubeconfig={admin}", "--leader-elect=false"),
            *(f"--service-account-private-key-file={keys}", f"--root-ca-file={made.authority}"),
            "--node-monitor-grace-period=10m",  # the node is as slow as the machine of the tests
        ],
        "kube-scheduler": [kube["kube-scheduler"], f"--kubeconfig={admin}", "--leader-elect=false"],
        "containerd": ["containerd", "--config", str(containerd)],
        "names": [sys.executable, str(_NAMES), NODE, URL, str(made.authority), made._token],
        "kubelet": [
            *(kube["kubelet"], f"--kubeconfig={admin}", f"--config={kubelet}", f"--hostname-override={_NAME}"),
            *(f"--node-ip={NODE}", f"--root-dir={directory / 'kubelet'}", f"--cert-dir={directory / 'kubelet-pki'}"),
        ],
        "kube-proxy": [
            *(kube["kube-proxy"], f"--kubeconfig={admin}", f"--hostname-override={_NAME}", "--proxy-mode=iptables"),
            *("--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", f"--cluster-cidr={PODS}"),
            "--conntrack-tcp-timeout-close-wait=0",
        ],
    }


def _prepare(directory: Path, token: str) -> None:
    (directory / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    command = ["openssl", "genrsa", "-out", str(directory / "accounts.key"), "2048"]
    subprocess.run(command, capture_output=True, check=True)
    (directory / "resolv.conf").write_text("")  # nothing but services has a name in a pod
    for group in Path("/sys/fs/cgroup").iterdir():
        if (group / "cgroup.procs").exists():
            (group / CGROUP).mkdir(exist_ok=True)
    # Beside other work on this machine, pods count as several processes, not as one.
    Path("/sys/fs/cgroup/cpu", CGROUP, "cpu.shares").write_text("6144")
    cpus = Path("/sys/fs/cgroup/cpuset")
    for name in ("cpuset.cpus", "cpuset.mems"):
        (cpus / CGROUP / name).write_text((cpus / name).read_text())


def _containerd(directory: Path, images: Path) -> Path:
    networks = directory / "networks"
    networks.mkdir(exist_ok=True)
    addresses = {
        "type": "host-local",
        "dataDir": str(directory / "addresses"),
        "ranges": [[{"subnet": PODS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "pods", "isGateway": True, "ipMasq": False, "ipam": addresses}
    network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, {"type": "loopback"}]}
    (networks / "10-pods.conflist").write_text(json.dumps(network))
    file = directory / "containerd.toml"
    file.write_text(
        f"""
version = 2
root = "{images}"
state = "{directory / "containerd"}"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "{directory / "containerd.sock"}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{networks}"
"""
    )
    return file


def _kubelet(directory: Path) -> Path:
    file = directory / "kubelet.json"
    content = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{directory / 'containerd.sock'}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
        "failSwapOn": False,
        "failCgroupV1": False,
        "clusterDNS": [NODE],
        "clusterDomain": "cluster.local",
        "resolvConf": str(directory / "resolv.conf"),
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "enforceNodeAllocatable": [],
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageMaximumGCAge": "0s",
        "staticPodPath": "",
    }
    file.write_text(json.dumps(content))
    return file


def _is_ready(made: Cluster) -> bool:
    conditions = made.ask(f"/api/v1/nodes/{_NAME}")["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _wait(node: Machine, name: str, is_so: Any, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if is_so():
                return
        except (OSError, urllib.error.URLError):
            pass
        assert time.monotonic() < deadline, f"{name} did not start: {node.log_of(name)}"
        time.sleep(0.5)


def _delete_all_pods(made: Cluster) -> None:
    """End all containers, so that they leave no mounts on the images that are kept."""
    for space in made.ask("/api/v1/namespaces")["items"]:
        path = f"/api/v1/namespaces/{space['metadata']['name']}/pods"
        made.ask(path, method="DELETE", body={"gracePeriodSeconds": 0})
