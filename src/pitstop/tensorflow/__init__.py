"""What a TensorFlow process holds, and the few private names needed to reach it."""
