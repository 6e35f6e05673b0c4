"""Does not even compile: the bracket of the call is never closed."""

print("training"
