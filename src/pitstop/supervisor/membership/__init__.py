"""The run as a member of a cluster: what the leader does, what the others do, and which it is."""
