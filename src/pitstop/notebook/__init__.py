"""`%load_ext pitstop`: every `fit` of a notebook's kernel under Pitstop."""
