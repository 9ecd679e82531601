"""Topics, settings and producer ids of the cluster, and the journal that keeps them."""
