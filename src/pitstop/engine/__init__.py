"""The part of Pitstop that lives in the trainer and knows no framework."""
