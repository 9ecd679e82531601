"""The line about executors that do not start."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.spark import _waiting
from kafkawire.spark._waiting import advice_for, watched_executors

if TYPE_CHECKING:
    from collections.abc import Callable


class Context:
    """The part of a SparkContext that is asked."""

    def __init__(self, master: str, *, executors: int, jobs: int) -> None:
        self.master, self.applicationId = master, "spark-1"
        self._jsc = self
        self.executors, self.jobs = executors, jobs
        self.asked = 0

    def sc(self) -> Context:
        return self

    def getExecutorMemoryStatus(self) -> Any:  # noqa: N802
        self.asked += 1
        return SimpleNamespace(size=lambda: self.executors + 1)

    def statusTracker(self) -> Any:  # noqa: N802
        return SimpleNamespace(getActiveJobsIds=lambda: list(range(self.jobs)))

    def getConf(self) -> dict[str, str]:  # noqa: N802
        return {"spark.kubernetes.namespace": "jobs"}


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Context], str]:
    """The messages about a session within a few rounds."""
    monkeypatch.setattr(_waiting, "_INTERVAL", 0.01)
    monkeypatch.setattr(_waiting, "PATIENCE", 0.05)

    def look(context: Context) -> str:
        session: Any = SimpleNamespace(sparkContext=context)
        with watched_executors(session):
            end = time.monotonic() + 5
            text = ""
            while not text and time.monotonic() < end and context.asked < 20:
                time.sleep(0.02)
                text += capsys.readouterr().err
                if context.master.startswith("local"):
                    break
        return text + capsys.readouterr().err

    return look


def test_a_job_without_executors_is_reported_once(printed: Callable[[Context], str]) -> None:
    said = printed(Context("k8s://https://host:6443", executors=0, jobs=1))
    assert said.count("no executor has started") == 1
    assert "`kubectl get pods -n jobs -l spark-app-selector=spark-1`" in said


@pytest.mark.parametrize(
    ("master", "executors", "jobs"),
    [("k8s://https://host:6443", 1, 1), ("k8s://https://host:6443", 0, 0), ("local[2]", 0, 1)],
    ids=["with an executor", "without a job", "local"],
)
def test_other_sessions_are_not(printed: Callable[[Context], str], master: str, executors: int, jobs: int) -> None:
    assert printed(Context(master, executors=executors, jobs=jobs)) == ""


def test_the_advice_names_where_the_reason_is() -> None:
    assert "page of the master" in advice_for("spark://host:7077", "app-1", "default")
    assert "ImagePullBackOff" in advice_for("k8s://https://host:6443", "spark-1", "default")
