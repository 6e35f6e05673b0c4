"""Custom loops without a line of Pitstop: recorded calls, answered again on a resume."""
