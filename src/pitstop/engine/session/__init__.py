"""One trainer under its supervisor: its session, its step boundaries, and how its script ends."""
