"""What a training is, and which saved one it is known as."""
