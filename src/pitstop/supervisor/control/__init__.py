"""The run's socket: who connects, and what is asked."""
