"""Trainings in a `tf.compat.v1.Session`, which save themselves."""
