"""Parts of Fetch beside its handler: waiting for records, and conversion for old clients."""
