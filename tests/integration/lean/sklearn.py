"""Keeps scikit-learn out of the scripts of these tests, which do not use it.

Keras imports it wherever it is installed, SciPy's statistics with it: a quarter of what a short
training costs the processor.
"""

raise ImportError("left out of the integration tests")
