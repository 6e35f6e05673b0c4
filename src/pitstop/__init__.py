"""Pitstop: stop a TensorFlow run anywhere, resume it bit for bit, know why it stopped."""

__version__ = "0.1.0"
