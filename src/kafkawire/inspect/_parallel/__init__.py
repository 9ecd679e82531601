"""Captures read by several workers: how they are divided, and what each part gives."""
