"""Captures read by many: how they are divided, and what each part gives."""
