"""How trainer, supervisor, helpers and command line talk to each other: see `messages`."""
