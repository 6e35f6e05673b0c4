"""What others than the script print about an end: kernel, schedulers, shells, runtimes."""
