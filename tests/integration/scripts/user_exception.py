"""Trains an epoch, then fails in the user's own code."""

from tiny import fit


def summarise(history):
    return history["accuracy"][-1]  # the model has no such metric: KeyError


print(summarise(fit(epochs=1).history))
