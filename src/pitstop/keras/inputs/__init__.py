"""The data of a `fit`: its position, and how exactly it can be brought back."""
