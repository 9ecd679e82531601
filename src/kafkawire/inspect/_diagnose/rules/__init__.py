"""The built-in rules, one module per subject. A module here is found by its being here."""
