"""The built-in rules, one module per subject. Every module here is loaded; no list names them."""
