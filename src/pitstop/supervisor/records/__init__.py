"""What is written down and said about an attempt."""
