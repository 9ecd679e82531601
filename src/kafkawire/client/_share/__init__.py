"""Share groups (KIP-932): records that several consumers of a group acquire and acknowledge one by one."""
