"""What the sources of text refuse."""

from kafkawire.exceptions import KafkaWireError


class HexError(KafkaWireError, ValueError):
    """Text that is not hex, and where: line and column count from 1."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.line = line
        self.column = column
        self.problem = problem
