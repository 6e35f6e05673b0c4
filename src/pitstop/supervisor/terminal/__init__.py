"""The user's terminal: the script's output, our lines, the status line."""
