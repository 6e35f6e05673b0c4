"""Variables: held at a cut, set at a resume, and their values in other formats."""
