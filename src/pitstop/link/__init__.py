"""How trainer, supervisor, persister and command line talk to each other."""
