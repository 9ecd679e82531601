"""Bytes to a tree: every byte of a frame or a record batch belongs to one leaf."""
