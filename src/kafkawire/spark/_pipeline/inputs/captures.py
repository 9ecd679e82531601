"""Packet captures as the input of a pipeline run.

Rules:
- Every table is the inspector's; `capture_files` describes the files. The tables report what could not be decoded: in
  `gaps`, in the state and `fault` of exchanges, and in the `kind` of connections.
- Captures are decoded once for all tables.
- Records have keys, headers and lengths. They have values only on request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from kafkawire.spark._captures.diagnosis import captured_transactions, diagnose_captures
from kafkawire.spark._captures.files import CaptureFile, list_captures
from kafkawire.spark._captures.pieces import BY_TOPIC, CapturePieces
from kafkawire.spark._pipeline.summary import Summary
from kafkawire.spark._report.captures import capture_chapters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from kafkawire.inspect import Thresholds
    from kafkawire.spark._pipeline.output import WrittenTables
    from kafkawire.spark._report.chapters import Planned

_FAULTS_SHOWN: Final = 20
_ALL: Final = ("capture_files", "connections", "gaps", "exchanges", *BY_TOPIC)


@dataclass
class CapturesSummary(Summary):
    """The numbers of a run over captures."""

    packets: int | None = None
    connections: int | None = None
    kafka_connections: int | None = None
    tls_connections: int | None = None
    missing_bytes: int | None = None
    skipped_bytes: int | None = None
    exchanges: int | None = None
    undecoded: int | None = None
    unanswered: int | None = None
    transactional: int | None = None
    batches: int | None = None
    records: int | None = None
    faults: int | None = None
    fault_examples: list[dict[str, str]] = field(default_factory=list)

    def take(self, table: str, measured: dict[str, Any]) -> None:
        super().take(table, measured)
        for name in (*measured, table):
            if hasattr(self, name) and name != "rows":
                setattr(self, name, measured["rows"] if name == table else measured[name])


@dataclass
class CapturesInput:
    """Capture files, directories of them, patterns."""

    paths: Sequence[str]
    values: bool = False
    tables: Sequence[str] = _ALL
    """The tables that will be read; nothing is decoded for others."""
    kind: str = "captures"
    listed: str = "files"
    unit: Literal["bytes", "items"] = "bytes"
    choices: Sequence[str] = _ALL
    default: Sequence[str] = _ALL
    _files: list[CaptureFile] = field(default_factory=list)
    _pieces: CapturePieces | None = None

    def files(self) -> list[dict[str, Any]]:
        self._files = list_captures(self.paths)
        return [{"file": file.name, "bytes": file.size} for file in self._files]

    def amount(self) -> int:
        return sum(file.size for file in self._files)

    def nothing(self) -> str:
        return f"no captures in {', '.join(self.paths)}; expected files of tcpdump or Wireshark, such as kafka.pcap"

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "paths": list(self.paths), "values": self.values}

    def summary(self) -> CapturesSummary:
        return CapturesSummary(files=len(self._files), bytes=sum(file.size for file in self._files))

    def read(self, spark: SparkSession, table: str, tasks: int) -> DataFrame:
        if self._pieces is None:
            options = {"values": str(self.values).lower(), "minPartitions": str(tasks)}
            self._pieces = CapturePieces(spark, self.paths, self.tables, **options)
        return self._pieces.frame(table)

    def valid_rows(self, rows: DataFrame) -> DataFrame:
        return rows

    def measures(self, table: str) -> list[Column]:
        if table == "capture_files":
            return [F.sum("packets").alias("packets"), F.sum(F.size("faults")).alias("faults")]
        if table == "connections":
            return [
                F.count(F.when(F.col("kind") == "kafka", 1)).alias("kafka_connections"),
                F.count(F.when(F.col("tls"), 1)).alias("tls_connections"),
                F.coalesce(F.sum("missing_bytes"), F.lit(0)).alias("missing_bytes"),
                F.coalesce(F.sum(F.when(F.col("kind") == "kafka", F.col("skipped_bytes"))), F.lit(0)).alias(
                    "skipped_bytes"
                ),
                F.unix_millis(F.min("t_first")).alias("first_timestamp"),
                F.unix_millis(F.max("t_last")).alias("last_timestamp"),
            ]
        if table == "exchanges":
            return [
                F.count("fault").alias("undecoded"),
                F.count(F.when(F.col("state") == "unanswered", 1)).alias("unanswered"),
                F.count("transactional_id").alias("transactional"),
            ]
        return []

    def partitioning(self, table: str) -> Sequence[str]:
        return ("topic",) if table in BY_TOPIC else ()

    def extra_tables(self, tables: WrittenTables, summary: Summary) -> Mapping[str, DataFrame]:
        assert isinstance(summary, CapturesSummary)
        if self._pieces is not None:
            self._pieces.forget()
            self._pieces = None
        if summary.faults:
            wrong = tables.frame("capture_files").select("file", F.explode("faults").alias("fault"))
            shown = wrong.orderBy("file").limit(_FAULTS_SHOWN).collect()
            summary.fault_examples = [row.asDict() for row in shown]
        found = captured_transactions(tables) if summary.transactional else None
        if found is None:
            return {}
        found = found.cache()
        summary.rows["transactions"] = found.count()
        return {"transactions": found.orderBy("begin", "producer_id")}

    def diagnose(self, table: str, tables: WrittenTables, limits: Thresholds) -> DataFrame | None:
        return diagnose_captures(tables, limits) if table == "batches" else None

    def chapters(self, tables: WrittenTables, summary: Summary) -> Iterable[Planned]:
        return capture_chapters(tables, summary, values=self.values)
