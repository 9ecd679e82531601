"""Words that a shell completes: scripts, the place of the cursor, and the values that fit there."""
