"""Keeps libraries out of the scripts of these tests that do not use them.

Keras imports scikit-learn, pandas and SciPy wherever they are installed: a third of what a short
training costs the processor.
"""

import sys
from pathlib import Path

INPUTS_THAT_NEED_THEM = {"frames", "sparse"}
HERE = str(Path(__file__).parent)


def leave_out(library: str) -> None:
    """Lets the import of a library fail, unless the script reads frames or sparse matrices."""
    if not INPUTS_THAT_NEED_THEM.intersection(getattr(sys, "argv", ())):
        raise ImportError("left out of the integration tests")
    sys.path[:] = [folder for folder in sys.path if folder != HERE]
    del sys.modules[library]
    __import__(library)
