"""The commands: one file each, found by its name (see `kafkawire.cli.registry`)."""
