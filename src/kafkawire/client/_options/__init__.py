"""The options of clients, by subject: their declaration, and security."""
