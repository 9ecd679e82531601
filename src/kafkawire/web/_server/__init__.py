"""The HTTP side of the page: the guard at its door, routes, answers, uploads, and the running server."""
