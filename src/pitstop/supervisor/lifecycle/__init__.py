"""What follows from each event, as a table; the deadline of a stop."""
