"""Brokers under torture: real clients note what they were promised, and check it after every blow.

`python -m torture --minutes 30` runs every scenario; `--only kills,power --seed 7` runs some, the same way each time.
Nothing is imported here, because small processes of the harness start from this package.
"""
