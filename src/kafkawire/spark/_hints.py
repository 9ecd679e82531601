"""Hints for failures of Spark that do not say what to do.

Rules:
- A pattern is searched in the whole text of a failure, stack traces included. The first that is found counts.
- A hint names a cause that is certain from the text, or the one to look at first.
"""

from __future__ import annotations

import re
from typing import Final

from kafkawire.spark._pipeline.table_formats import missing_jar

_HINTS: Final = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (
            r"No space left on device|Disk quota exceeded",
            "the disk is full: free some space, or choose another --out; Spark's own files are in spark.local.dir",
        ),
        (
            r"is forbidden: User \S+ cannot \w+ resource",
            "give this user or service account the role of examples/kubernetes/rbac.yaml. A driver in a pod has the"
            " account of spark.kubernetes.authenticate.driver.serviceAccountName, a driver elsewhere that of its"
            " kubeconfig",
        ),
        (
            r"Must specify the (?:driver |executor )?container image",
            "name an image that has kafkawire: --conf spark.kubernetes.container.image=...",
        ),
        (
            r"OOMKilled|exit(?:ed with exit)? code 137|exit status: 137",
            "an executor needed more memory than its container has. Python workers count against the overhead: raise"
            " spark.executor.memoryOverheadFactor (0.4 or more), or spark.executor.memory",
        ),
        (
            r"Max number of executor failures",
            "executors end one after the other; on Kubernetes, `kubectl describe pod` and `kubectl logs` show why",
        ),
        (
            r"Python worker failed to connect back|Accept timed out",
            "Spark started a Python worker that did not answer: check PYSPARK_PYTHON, and that a firewall or VPN allows"
            " connections to this machine (SPARK_LOCAL_IP=127.0.0.1)",
        ),
        (
            r"PYTHON_VERSION_MISMATCH|Python in worker has different version",
            "set PYSPARK_PYTHON to the same version of Python on driver and executors",
        ),
        (
            r"No module named '(?:kafkawire|pyarrow|fastavro|google|jsonschema)[.\w]*'",
            "install kafkawire with its extras for the Python of the executors: on Kubernetes in the image that"
            " spark.kubernetes.container.image names, elsewhere on every node, or as an archive"
            " (python -m kafkawire.spark.archive)",
        ),
        (
            r'Cannot run program "[^"]*python[^"]*"',
            "PYSPARK_PYTHON is not a program on the executors",
        ),
        (
            r"(?:DATA_SOURCE_NOT_FOUND|ClassNotFoundException|Cannot find catalog plugin class)[^\n]*(?i:delta)",
            missing_jar("delta"),
        ),
        (
            r"(?:DATA_SOURCE_NOT_FOUND|ClassNotFoundException|Cannot find catalog plugin class)[^\n]*(?i:iceberg)",
            missing_jar("iceberg"),
        ),
        (
            r"unresolved dependency",
            "Spark found no such package in its repositories. Without a network, fetch the jars elsewhere and name the"
            " files: --conf spark.jars=FILE.jar,...",
        ),
        (
            r"UnsupportedClassVersionError|has been compiled by a more recent version of the Java",
            "Spark needs Java 17 or newer: set JAVA_HOME, or pip install 'kafkawire[jdk]'",
        ),
        (
            r"All masters are unresponsive|Failed to connect to master",
            "the master of --master does not answer; check its address, and that its Spark has the same version",
        ),
        (
            r"OutOfMemoryError: Java heap space|GC overhead limit exceeded",
            "give the JVM more memory: --conf spark.driver.memory=4g, or on a cluster spark.executor.memory",
        ),
        (
            r"UnknownHostException",
            "a host name cannot be resolved; for the name of this machine, set SPARK_LOCAL_IP=127.0.0.1",
        ),
    )
)


def hint_for(text: str) -> str:
    """The advice for a failure of Spark; empty if nothing is known about it.

    >>> hint_for("java.io.IOException: No space left on device")[:21]
    'the disk is full: fre'
    """
    return next((hint for pattern, hint in _HINTS if pattern.search(text)), "")


def with_hint(reason: str, text: str) -> str:
    """A reason in one line, and what to do about it."""
    hint = hint_for(text)
    return f"{reason}; {hint}" if hint and hint not in reason else reason
