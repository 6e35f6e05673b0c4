"""The callbacks of a `fit`: their state, their files, and their stops."""
