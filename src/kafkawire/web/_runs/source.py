"""The output of a pipeline run as a source: its manifest, its findings, and its tables.

Rules:
- Only the directories of tables that the manifest lists are read, and only Parquet. A path that leads outside of the
  directory of the run is refused, because a manifest may come from others.
- A table is read when the page first shows it, at most its first MOST_ROWS rows. The page says how many there are.
- A run has rows, not bytes. The page of its capture or of its log directories has the bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from kafkawire.inspect import Asked, Reading
    from kafkawire.web._bytes.document import Document
    from kafkawire.web._captures.exchanges import ExchangeList

MANIFEST: Final = "manifest.json"
MOST_ROWS: Final = 2_000_000
_OF_CAPTURES: Final = ("exchanges", "connections", "gaps", "exchange_partitions")


class StoredFinding:
    """A finding that a run stored."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._row = row
        self.level: str = row["level"]

    def row(self) -> dict[str, Any]:
        """The finding as the page shows it."""
        row = {
            "conn_id": None,
            "connection": None,
            "client_id": None,
            "entity": None,
            "certainty": "proven",
            **self._row,
        }
        evidence = row.get("evidence") or []
        row["evidence"] = [dict(each) for each in evidence]
        row.setdefault("count", len(evidence))
        return row | {name: _micro(row.get(name)) for name in ("t0", "t1")}


class RunSource:
    """The output directory of a run."""

    letter: Final = "r"
    phase, failure, done, version = "whole", None, 0, 0

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        self.title = self.root.name
        try:
            self.manifest: dict[str, Any] = json.loads((self.root / MANIFEST).read_text("utf-8"))
            listed = self.manifest.get("tables", {})
            self.listed: dict[str, dict[str, Any]] = {str(name): dict(each) for name, each in listed.items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise Problem(f"{self.root / MANIFEST} is not the manifest of a run: {error}") from error
        self._kept: dict[str, pa.Table] = {}
        self._made: tuple[Reading, ExchangeList] | None = None
        self._lock = Lock()

    def about(self) -> dict[str, Any]:
        views = [["", "Tables"], ["findings", "Findings"]]
        if all(name in self.listed for name in _OF_CAPTURES):
            views += [["exchanges", "Exchanges"], ["conversations", "Connections"]]
        return {"kind": "run", "title": self.title, "views": views, "text": "the output of a pipeline run"}

    def table(self, name: str) -> pa.Table:
        """The rows of a table of the run."""
        import pyarrow.dataset

        known = self.listed.get(name)
        if known is None:
            raise Problem(f"this run has no table {name[:60]}", status=404)
        if known.get("format", "parquet") != "parquet":
            raise Problem(f"the table {name} is in the format {known['format']}; the page reads Parquet")
        with self._lock:
            if name not in self._kept:
                path = (self.root / str(known.get("path", name))).resolve()
                if not path.is_relative_to(self.root) or not path.is_dir():
                    raise Problem(f"the table {name} is not in the directory of the run")
                dataset: Any = pyarrow.dataset.dataset(path, format="parquet", partitioning="hive")
                self._kept[name] = _plain(dataset.head(MOST_ROWS))
            return self._kept[name]

    @property
    def reading(self) -> Reading:
        """The tables of a run over captures."""
        return self._captures()[0]

    @property
    def exchanges(self) -> ExchangeList:
        """The exchanges of a run over captures."""
        return self._captures()[1]

    def findings(self) -> list[Any]:
        """The findings that the run stored, the worst first."""
        if "findings" not in self.listed:
            return []
        order = {"error": 0, "warning": 1, "info": 2}
        found = [StoredFinding(row) for row in self.table("findings").to_pylist()]
        return sorted(found, key=lambda each: order.get(each.level, 3))

    def open_bytes(self, item: str, _: Asked) -> Document:
        """A run has no bytes; the answer says where they are."""
        paths = " ".join(map(str, self.manifest.get("source", {}).get("paths", ())))
        where = f": kafkawire ui {paths}" if paths else ""
        raise Problem(f"a run keeps the rows of {item}, not its bytes; open its input{where}", status=404)

    def _captures(self) -> tuple[Reading, ExchangeList]:
        if self._made is None:
            from kafkawire.inspect import SCHEMAS, Reading
            from kafkawire.web._captures.exchanges import ExchangeList

            tables = {}
            for name in _OF_CAPTURES:
                schema, found = SCHEMAS[name], self.table(name)
                columns = [
                    found[field.name].cast(field.type)
                    if field.name in found.schema.names
                    else pa.nulls(len(found), field.type)
                    for field in schema
                ]
                tables[name] = pa.Table.from_arrays(columns, schema=schema)
            self._made = (Reading(tables, [], []), ExchangeList(tables))
        return self._made


def _plain(table: pa.Table) -> pa.Table:
    """The columns of partitions as their values, and times without a zone of the session."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(field.type.value_type))
        elif pa.types.is_timestamp(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.timestamp("us", "UTC")))
    return table


def _micro(value: Any) -> Any:
    return round(value.timestamp() * 1e6) if hasattr(value, "timestamp") else value
