"""The one process that trains, and the conversation with it."""
