"""What a Python process under `pitstop run` loads before the user's script, by PYTHONPATH."""
