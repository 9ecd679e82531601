"""The work of `cleanup.policy`: retention, compaction, and the steps that background work consists of."""
