# rich 15.0.0, by Will McGugan; the licence is in LICENSE. Copied by `make generate`.
VERSIONS = ("17.0.0",)
