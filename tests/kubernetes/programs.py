"""The programs of a cluster and the images of its pods, made once into build/kubernetes.

Rules:
- etcd and Kubernetes are built from their modules (`components/`). Everything else is a package of Debian.
- The recipe of the image is examples/kubernetes/Dockerfile, unchanged. Its base is a Debian that debootstrap makes,
  under the name of the base that a registry would deliver.
- The wheel of this tree and its libraries are fetched here, so that the build of the image needs only Debian.
- An error names everything that is missing.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[2]
BUILD: Final = ROOT / "build" / "kubernetes"
EXAMPLE: Final = ROOT / "examples" / "kubernetes"
_BASE: Final = "localhost/debian:bookworm-slim"
_PACKAGES: Final = {
    "buildah": "buildah",
    "containerd": "containerd",
    "debootstrap": "debootstrap",
    "gcc": "gcc",
    "ip": "iproute2",
    "iptables": "iptables",
    "kubectl": "kubernetes-client",
    "nsenter": "util-linux",
    "openssl": "openssl",
    "runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
}
_IN_IMAGE: Final = ("Dockerfile", "entrypoint.sh", "command.py", "job.py")
_RELEASE: Final = "v1.34.4"


class MissingError(Exception):
    """This machine cannot run the cluster."""


class Programs:
    """The parts of a cluster; each is made when it is first used."""

    COMPONENTS: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")

    def __init__(self) -> None:
        if sys.platform != "linux" or os.geteuid() != 0:
            raise MissingError("a node of Kubernetes needs Linux and root")
        if missing := [package for program, package in _PACKAGES.items() if shutil.which(program) is None]:
            raise MissingError(f"missing packages: apt-get install {' '.join(missing)}")
        if not Path("/sys/fs/cgroup/memory").is_dir():
            raise MissingError(
                "no control groups of version 1 in /sys/fs/cgroup; the node is not written for version 2"
            )
        BUILD.mkdir(parents=True, exist_ok=True)

    @cached_property
    def kubernetes(self) -> Path:
        """The directory with the components of Kubernetes, under their names."""
        sources = Path(__file__).with_name("components")
        made = BUILD / f"kubernetes-{_digest(sources, ('main.go', 'go.mod', 'go.sum'))}"
        if not (made / "kube-proxy").exists():
            if shutil.which("go") is None:
                raise MissingError("Go is needed to build Kubernetes")
            flags = f"-s -w -X k8s.io/component-base/version.gitVersion={_RELEASE}"
            out = made / "kubernetes"
            words = ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(out), "."]
            _run("Kubernetes", words, cwd=sources, more={"CGO_ENABLED": "0"})
            for name in self.COMPONENTS:
                (made / name).symlink_to(out.name)
        return made

    @cached_property
    def pause(self) -> Path:
        """The image of the process that holds the namespaces of a pod, from the source of Kubernetes."""
        archive = BUILD / "pause.tar"
        if not archive.exists():
            sources = Path(__file__).with_name("components")
            found = _run("Kubernetes", ["go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"], cwd=sources).strip()
            context = BUILD / "pause"
            context.mkdir(exist_ok=True)
            code = f"{found}/build/pause/linux/pause.c"
            version = "-DVERSION=tests"
            _run("pause", ["gcc", "-O2", "-static", version, "-o", str(context / "pause"), code])
            (context / "Dockerfile").write_text('FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n')
            self._build("kafkawire.test/pause:1", context, archive)
        return archive

    @cached_property
    def image(self) -> tuple[str, Path]:
        """The image with kafkawire: its name, and the archive."""
        wheels = self.wheels
        context = wheels.parents[1]
        for name in _IN_IMAGE:
            shutil.copy(EXAMPLE / name, context)
        tag = f"kafkawire.test/spark-kafkawire:{wheels.name}-{_digest(EXAMPLE, _IN_IMAGE)}"
        archive = BUILD / f"{tag.rpartition('/')[2].replace(':', '-')}.tar"
        if not archive.exists():
            self._make_base()
            packages = f"PACKAGES=--no-index --find-links /wheels/{wheels.name} kafkawire[spark,values]"
            self._build(tag, context, archive, "--layers", "--build-arg", packages)
        return tag, archive

    @cached_property
    def bare_image(self) -> tuple[str, Path]:
        """An image that has Spark, but no kafkawire."""
        whole, file = self.image
        tag, archive = whole.replace("spark-kafkawire", "spark-alone"), file.with_name(f"alone-{file.name}")
        if not archive.exists():
            context = BUILD / "alone"
            context.mkdir(exist_ok=True)
            steps = [f"FROM {whole}", "USER 0", "RUN pip uninstall --yes kafkawire", "USER 185"]
            (context / "Dockerfile").write_text("\n".join(steps))
            self._build(tag, context, archive)
        return tag, archive

    @property
    def wheels(self) -> Path:
        """The wheel of this tree, and those of the libraries."""
        libraries = BUILD / "libraries"
        wheels = sorted((ROOT / "dist").glob("kafkawire-*.whl")) or sorted((BUILD / "dist").glob("kafkawire-*.whl"))
        pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
        if not wheels:
            words = [*pip, "--no-build-isolation", "--no-deps", "-w", str(BUILD / "dist"), str(ROOT)]
            _run("the wheel", words, more={"KAFKAWIRE_BUILD": "compiled"})
            wheels = sorted((BUILD / "dist").glob("kafkawire-*.whl"))
        if not (libraries / "fetched").exists():
            import pyspark

            pinned = f"pyspark=={pyspark.__version__}"
            _run("the libraries", [*pip, "-w", str(libraries), pinned, f"{wheels[-1]}[spark,values]"])
            for each in libraries.glob("kafkawire-*.whl"):
                each.unlink()
            (libraries / "fetched").touch()
        digest = hashlib.sha256(wheels[-1].read_bytes()).hexdigest()[:12]
        made = BUILD / "context" / "wheels" / digest
        made.mkdir(parents=True, exist_ok=True)
        for each in [wheels[-1], *libraries.glob("*.whl")]:
            if not (made / each.name).exists():
                shutil.copyfile(each, made / each.name)
        return made

    def _make_base(self) -> None:
        if not _run("buildah", [*self._buildah, "images", "-q", "--filter", f"reference={_BASE}"]).strip():
            root, context = BUILD / "base", BUILD / "base-context"
            shutil.rmtree(root, ignore_errors=True)
            context.mkdir(exist_ok=True)
            _run("Debian", ["debootstrap", "--variant=minbase", "bookworm", str(root)])
            settings = root / "etc/dpkg/dpkg.cfg.d/images"
            settings.write_text("force-unsafe-io\npath-exclude /usr/share/doc/*\npath-exclude /usr/share/man/*\n")
            _run("Debian", ["tar", "-C", str(root), "-cf", str(context / "base.tar"), "."])
            (context / "Dockerfile").write_text('FROM scratch\nADD base.tar /\nCMD ["bash"]\n')
            _run("the base", [*self._buildah, "build", "--isolation", "chroot", "-t", _BASE, str(context)])
            shutil.rmtree(root)
            shutil.rmtree(context)

    def _build(self, tag: str, context: Path, archive: Path, *options: str) -> None:
        how = ["--isolation", "chroot", "--network", "host", "--pull-never", *options]
        _run(tag, [*self._buildah, "build", *how, "-t", tag, str(context)])
        draft = archive.with_suffix(".new")
        draft.unlink(missing_ok=True)
        _run(tag, [*self._buildah, "push", tag, f"docker-archive:{draft}:{tag}"])
        draft.rename(archive)

    @property
    def _buildah(self) -> list[str]:
        places = ["--root", str(BUILD / "storage"), "--runroot", str(BUILD / "storage-state")]
        return ["buildah", *places, "--storage-driver", "overlay"]


def _digest(directory: Path, names: Sequence[str]) -> str:
    """A name for the content of files of a directory."""
    files = [directory / name for name in names]
    content = b"".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)
    return hashlib.sha256(content).hexdigest()[:12]


def _run(what: str, command: list[str], *, cwd: Path | None = None, more: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, **(more or {})}
    )
    if done.returncode:
        raise MissingError(f"{what} could not be made: {' '.join(command[:4])}: {done.stderr[-2000:]}")
    return done.stdout
