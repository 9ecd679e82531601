"""Trees as people and programs read them."""
