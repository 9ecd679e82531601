"""From a frame to the handler of an API and back: the dispatcher, the registry of handlers, turns on the loop."""
