"""A broker: topics, configs, groups, messages with a streamed search, and the requests of the page itself."""
