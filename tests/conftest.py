"""What every test shares: the header that names the implementation under test, and the marks."""

from kafkawire import implementation


def pytest_configure(config: object) -> None:
    config.addinivalue_line("markers", "twin: runs in both forms, compiled and Python")  # type: ignore[attr-defined]  # pytest hands over its Config


def pytest_report_header() -> str:
    return f"kafkawire implementation: {implementation.describe()}"
