"""Running a broker: its log lines, metrics, maintenance, fsyncs and event loop."""
