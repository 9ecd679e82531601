"""A contract for import-linter: a private module is imported only within the package that holds it.

Rules:
- A part of a module's name that begins with an underscore is private to the package before it. Within `kafkawire.log`,
  `kafkawire.log._segment` may be imported. Elsewhere its names come from the door `kafkawire.log`.
- A package's door hands out the names that other packages of kafkawire need (`_SHARED`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from importlinter import Contract, ContractCheck, output

if TYPE_CHECKING:
    from grimp import ImportGraph


def holder_of(module: str) -> str | None:
    """The package that a module is private to; None if it is public.

    >>> holder_of("kafkawire.log._segment"), holder_of("kafkawire.spark._topics.tasks"), holder_of("kafkawire.log")
    ('kafkawire.log', 'kafkawire.spark', None)
    """
    parts = module.split(".")
    at = next((at for at, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")), None)
    return None if at is None else ".".join(parts[:at])


def is_breach(importer: str, imported: str) -> bool:
    """Whether a module may not import another.

    >>> is_breach("kafkawire.broker._node", "kafkawire.log._segment")
    True
    >>> is_breach("kafkawire.log.partition", "kafkawire.log._segment")
    False
    """
    holder = holder_of(imported)
    return holder is not None and not f"{importer}.".startswith(f"{holder}.")


class PrivateContract(Contract):
    """No module imports a private module of another package."""

    type_name = "private"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        own = graph.find_descendants("kafkawire")
        breaches = [
            (importer, imported, graph.get_import_details(importer=importer, imported=imported))
            for importer in sorted(graph.modules)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if imported in own and is_breach(importer, imported)
        ]
        return ContractCheck(kept=not breaches, metadata={"breaches": breaches})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported, details in check.metadata["breaches"]:
            lines = ", ".join(str(each["line_number"]) for each in details)
            door = holder_of(imported)
            output.print_error(f"{importer} (line {lines}) imports {imported}: import its names from {door}.")
