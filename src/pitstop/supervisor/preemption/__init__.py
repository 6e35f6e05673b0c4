"""Whether the cloud takes the machine away."""
