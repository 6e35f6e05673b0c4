"""Imports Keras, builds a model, and ends without training it."""

from tiny import build_model

print(build_model().count_params(), "parameters")
