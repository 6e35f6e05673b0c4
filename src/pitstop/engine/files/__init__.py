"""Files of the script: which it makes, changes and reads, and which an earlier attempt has left."""
