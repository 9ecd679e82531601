"""Conversations to Arrow tables."""
