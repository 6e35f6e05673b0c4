"""A kernel of Jupyter, for the `python` of `interpreters.forking`."""

from ipykernel.kernelapp import launch_new_instance

launch_new_instance()
