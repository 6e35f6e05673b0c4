"""The console script `pitstop`, for an interpreter that has its modules already."""

from pitstop.cli.main import main

main()
