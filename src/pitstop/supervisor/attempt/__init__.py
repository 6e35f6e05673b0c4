"""One attempt: its plan, and the loop that supervises it."""
