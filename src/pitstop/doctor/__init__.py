"""`pitstop doctor`: what this machine can observe, what it cannot, and how to get it."""
