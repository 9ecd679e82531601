"""Applications that are submitted to the cluster, with the settings of docs/spark-clusters.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
from tests.kubernetes.cluster import URL
from tests.kubernetes.machine import HOST

from kafkawire.spark.java import find_java, java_home_for_spark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.kubernetes.cluster import Cluster

MASTER: Final = f"k8s://{URL}"
NAMESPACE: Final = "spark"
HOME: Final = Path(pyspark.__file__).parent
_SMALL: Final = {
    "spark.driver.memory": "600m",
    "spark.driver.memoryOverhead": "800m",
    "spark.executor.memory": "500m",
    "spark.executor.memoryOverheadFactor": "0.8",
    "spark.executor.instances": "1",
    "spark.kubernetes.executor.request.cores": "100m",
    "spark.kubernetes.driver.request.cores": "100m",
    "spark.kubernetes.allocation.executor.timeout": "600s",
    "spark.network.timeout": "600s",
    "spark.sql.shuffle.partitions": "2",
}


class Submissions:
    """Settings and environment of applications with an image and an account."""

    def __init__(self, cluster: Cluster, image: str, access: Path) -> None:
        self.cluster = cluster
        self.image = image
        self._access = access

    def settings(self, shared: Path | None = None, **more: str) -> dict[str, str]:
        """The settings of every application here; `shared` is mounted in driver and executors."""
        found = {**_SMALL, "spark.kubernetes.container.image": self.image, "spark.kubernetes.namespace": NAMESPACE}
        for each in ("driver", "executor") if shared else ():
            volume = f"spark.kubernetes.{each}.volumes.hostPath.lake"
            found |= {f"{volume}.mount.path": str(shared), f"{volume}.options.path": str(shared)}
        return found | {name.replace("__", "."): text for name, text in more.items()}

    def environment(self) -> dict[str, str]:
        """The environment of a driver outside of the cluster, in which `python3` is the Python of the tests."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
        return kept | {
            "JAVA_HOME": str(java_home_for_spark(find_java())),
            "KUBECONFIG": str(self._access),
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), kept["PATH"])),
        }

    def submit(
        self, mode: str, job: str, *words: str, settings: Mapping[str, str], seconds: float = 1500
    ) -> subprocess.CompletedProcess[str]:
        """Run `spark-submit` in a deploy mode to its end."""
        own = (
            {"spark.driver.host": HOST}
            if mode == "client"
            else {"spark.kubernetes.authenticate.driver.serviceAccountName": "spark"}
        )
        confs = _confs({**own, **settings})
        command = [str(HOME / "bin" / "spark-submit"), "--master", MASTER, "--deploy-mode", mode, *confs, job, *words]
        return run(command, self.environment(), seconds)

    def pipeline(
        self, verb: str, *words: str, settings: Mapping[str, str], seconds: float = 1500
    ) -> subprocess.CompletedProcess[str]:
        """Run `kafkawire pipeline VERB` with its driver here to its end."""
        return run(self.pipeline_command(verb, *words, settings=settings), self.environment(), seconds)

    def pipeline_command(self, verb: str, *words: str, settings: Mapping[str, str]) -> list[str]:
        program = [sys.executable, "-m", "kafkawire", "pipeline", verb]
        return [*program, *words, "--master", MASTER, *_confs({"spark.driver.host": HOST, **settings})]


def run(command: Sequence[str], used: Mapping[str, str], seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, env=dict(used))


def _confs(settings: Mapping[str, str]) -> list[str]:
    return [part for name, text in settings.items() for part in ("--conf", f"{name}={text}")]
