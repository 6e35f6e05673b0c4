"""Scripts of other people, unmodified: interrupted, resumed, and compared with undisturbed runs."""
