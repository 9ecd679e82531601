"""The format `kafkawire`: topics of a cluster, read and written."""
