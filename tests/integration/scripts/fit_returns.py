"""The same, but for a stop: its `fit` returns, the next one trains nothing, and the script ends."""

from fit_callback import main

main(on_stop="return")
