"""Keras 3 on TensorFlow: where `fit` is watched, cut and continued."""
