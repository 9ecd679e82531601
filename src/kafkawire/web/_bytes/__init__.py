"""Bytes as windows of a tree and of hex, their versions, and what differs between two of them."""
