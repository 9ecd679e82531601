"""Running a broker: its log lines, maintenance, fsyncs and event loop."""
