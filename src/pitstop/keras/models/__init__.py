"""The model of a `fit`: its variables, its functions, and its training step."""
