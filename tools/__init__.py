"""Programs for the maintainers of this repository; nothing of them is installed."""
