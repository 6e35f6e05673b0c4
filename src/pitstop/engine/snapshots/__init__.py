"""Cuts of the training state: when they are taken, how they are copied, how they are read."""
