"""Whether a failed attempt is followed by another one, and when."""
